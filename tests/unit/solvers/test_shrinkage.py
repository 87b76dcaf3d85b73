# SPDX-License-Identifier: Apache-2.0
"""Shrunk offsets: the truth where sums are clean, nearer to it than the raw mean where not."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.solvers.shrinkage import shrunk_offsets

WIDTH = 4.0


def problem(rng, noise, n_items=2000):
    counts = rng.pareto(1.0, n_items) * 20 + 1
    truth = -0.5 + 0.15 * np.log(counts) + rng.normal(0, 0.35, n_items)
    rating_variance = 0.1 * counts
    sums = counts * truth + rng.normal(0, np.sqrt(noise**2 + rating_variance))
    shrunk = shrunk_offsets(
        sums, counts, noise_variance=noise**2, rating_variance=rating_variance, width=WIDTH
    )
    return truth, sums / counts, shrunk, counts


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


@pytest.mark.parametrize("noise", [1.0, 10.0, 100.0])
def test_shrinking_beats_the_raw_mean_and_the_prior_alone(rng, noise):
    truth, raw, shrunk, _ = problem(rng, noise)
    assert rmse(shrunk, truth) < rmse(raw, truth)
    assert rmse(shrunk, truth) < 1.05 * np.std(truth)


def test_with_little_noise_popular_items_keep_their_mean(rng):
    truth, raw, shrunk, counts = problem(rng, 1e-6)
    popular = counts > np.quantile(counts, 0.9)
    np.testing.assert_allclose(shrunk[popular], raw[popular], atol=0.02)
    assert rmse(shrunk[popular], truth[popular]) < 0.1


def test_noise_that_drowns_everything_leaves_next_to_nothing(rng):
    _, raw, shrunk, _ = problem(rng, 1e9)
    assert np.std(raw) > 1e6
    assert np.abs(shrunk).max() < 0.05


def test_one_item_is_enough():
    one = shrunk_offsets(
        np.array([3.0]), np.array([2.0]), noise_variance=1.0, rating_variance=np.ones(1), width=4.0
    )
    assert np.all(np.isfinite(one))
