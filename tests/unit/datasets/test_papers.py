# SPDX-License-Identifier: Apache-2.0
"""The papers' synthetic experiments: sizes, scales and truths as their texts state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.datasets import dpals_synthetic, dplmc_synthetic, rank_one


def truth_at(made, block):
    exact = made.user_factors[block.user_of_rating()] * made.item_factors[block.items]
    return exact.sum(1)


def keys(piece):
    return piece.block.user_of_rating() * piece.n_items + piece.block.items


def assert_disjoint(*pieces):
    together = np.concatenate([keys(piece) for piece in pieces])
    assert len(np.unique(together)) == len(together)


def assert_inside_scale(*pieces):
    for piece in pieces:
        assert np.abs(piece.block.values).max() <= piece.scale.high
        assert piece.scale.low == -piece.scale.high


def test_dpals_is_exact_low_rank_of_unit_deviation():
    made = dpals_synthetic(3000, 1000, 5)
    pieces = (made.train, made.validation, made.test)
    full = made.user_factors @ made.item_factors.T
    assert full.std() == pytest.approx(1.0, rel=1e-9)
    spectrum = np.linalg.svd(full, compute_uv=False)
    assert spectrum[4] == pytest.approx(spectrum[0], rel=1e-6)  # orthonormal, all alike
    assert spectrum[5] < 1e-8 * spectrum[0]
    assert_disjoint(*pieces)
    assert_inside_scale(*pieces)
    for piece in pieces:
        np.testing.assert_allclose(piece.block.values, truth_at(made, piece.block), atol=1e-5)


def test_dpals_observes_each_entry_with_its_probability():
    made = dpals_synthetic(3000, 1000, 5)
    sizes = [len(p.block.items) for p in (made.train, made.validation, made.test)]
    expected = 20 * math.log(3000) * 3000
    assert sum(sizes) == pytest.approx(expected, abs=6 * math.sqrt(expected))
    assert np.array(sizes) / sum(sizes) == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
    assert np.bincount(made.train.block.items, minlength=1000).min() > 0


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_dplmc_sizes_noise_and_scale(noise):
    made = dplmc_synthetic(2000, 100, 5, noise=noise)
    pieces = (made.train, made.validation, made.test)
    norms = [np.linalg.norm(f, axis=1).max() for f in (made.user_factors, made.item_factors)]
    assert max(norms) == pytest.approx(2.0)
    assert len(made.train.block.items) == round(5 * 2000 * math.log(2000))
    assert len(made.validation.block.items) == 20_000
    assert sum(len(p.block.items) for p in pieces) == 200_000
    assert_disjoint(*pieces)
    assert_inside_scale(*pieces)
    np.testing.assert_allclose(made.test.block.values, truth_at(made, made.test.block), atol=1e-5)
    error = made.train.block.values - truth_at(made, made.train.block)
    assert error.std() == pytest.approx(noise, abs=0.02)


def test_dplmc_has_room_for_the_highest_rank_of_the_paper():
    made = dplmc_synthetic(15_000, 100, 7)
    assert len(made.train.block.items) == round(7 * 15_000 * math.log(15_000))


def test_dplmc_refuses_more_observations_than_entries():
    with pytest.raises(ValueError, match="leave no test entry"):
        dplmc_synthetic(2000, 30, 5)


def test_rank_one_has_unit_largest_entry_and_limited_rows():
    made = rank_one(5000, 400)
    full = made.user_factors @ made.item_factors.T
    assert np.abs(full).max() == pytest.approx(1.0, rel=1e-12)
    assert made.item_factors.shape == (400, 1)
    assert made.validation is None
    assert np.all(np.diff(made.train.block.indptr) == 80)
    assert len(made.test.block.items) == pytest.approx(20_000, abs=900)
    assert_disjoint(made.train, made.test)
    assert_inside_scale(made.train, made.test)


def test_rank_one_with_short_rows_keeps_test_entries_apart():
    made = rank_one(3000, 20, per_user=20)
    assert_disjoint(made.train, made.test)
    assert len(made.train.block.items) + len(made.test.block.items) == 60_000


def test_sizes_below_the_rank_are_refused():
    with pytest.raises(ValueError, match="at least the rank"):
        dpals_synthetic(100, 4, 5)
