# SPDX-License-Identifier: Apache-2.0
"""The noise has the stated law: the true scale is accepted, others are rejected.

Seeded sources make a test fail always or never (one test uses the real source); thresholds are
at most 1e-9.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.mechanisms.entropy import NoiseSource, SeededSource
from tacit.mechanisms.gaussian import add_noise, rounded_gaussian

pytestmark = pytest.mark.statistical

THRESHOLD = 1e-9
Z = 6.2  # two-sided normal: 6e-10


def smoothed(q: np.ndarray) -> np.ndarray:
    """Rounded values as reals again: spread evenly over their cells."""
    return q + np.random.default_rng(0).uniform(-0.5, 0.5, q.shape)


def accepts(q: np.ndarray, std: float) -> bool:
    return stats.kstest(smoothed(q.ravel()), "norm", args=(0.0, std)).pvalue > THRESHOLD


def assert_scale(q: np.ndarray, std: float) -> None:
    assert accepts(q, std)
    assert not accepts(q, 1.3 * std)
    assert not accepts(q, std / 1.3)


@pytest.mark.parametrize("std", [2.0**4, 1000.7, 2.0**20, 3.3 * 2.0**33, 2.0**45])
def test_true_scale_is_accepted_and_others_rejected(std):
    sums = np.full(100_000, 12345, np.int64)
    assert_scale(add_noise(sums, std, SeededSource(1), symmetric=False) - sums, std)


def test_the_source_of_the_operating_system_gives_the_same_law():
    assert_scale(rounded_gaussian(1e6, 100_000, NoiseSource()), 1e6)


def test_symmetric_noise_is_isometric():
    """Diagonal std, off the diagonal std / sqrt(2); the norm's square is n std^2 (Lemma G)."""
    rank, matrices, std = 20, 5000, 2.0**18
    rows, columns = np.triu_indices(rank)
    sums = np.zeros((matrices, len(rows)), np.int64)
    noise = add_noise(sums, std, SeededSource(2), symmetric=True)
    on = rows == columns
    assert_scale(noise[:, on], std)
    assert_scale(noise[:, ~on], std / math.sqrt(2.0))
    isometric = noise * np.where(on, 1.0, math.sqrt(2.0))
    assert_variance(isometric, std)
    correlation = np.corrcoef(noise[:, :6].T) - np.eye(6)
    assert np.max(np.abs(correlation)) < Z / math.sqrt(matrices)


def assert_variance(q: np.ndarray, std: float) -> None:
    """The pooled variance over d numbers has standard deviation sqrt(2 / d)."""
    pooled = np.mean(np.square(q / std))
    assert abs(pooled - 1.0) < Z * math.sqrt(2.0 / q.size)


@pytest.mark.parametrize("std", [2.0**10, 2.0**35])
def test_pooled_moments(std):
    q = rounded_gaussian(std, 4_000_000, SeededSource(3))
    x = q / std
    assert_variance(q, std)
    assert abs(x.mean()) < Z / math.sqrt(q.size)
    assert abs(np.mean(x**3)) < Z * math.sqrt(15 / q.size)
    assert abs(np.mean(x**4) - 3.0) < Z * math.sqrt(96 / q.size)
    assert abs(np.mean(x**6) - 15.0) < Z * math.sqrt((10395 - 225) / q.size)


def test_no_correlation_between_releases_or_neighbours():
    n, source = 1_000_000, SeededSource(4)
    first, second = (rounded_gaussian(2.0**20, n, source) / 2.0**20 for _ in range(2))
    pairs = [(first, second), (first[1:], first[:-1]), (first[8:], first[:-8])]
    for a, b in pairs:
        assert abs(np.corrcoef(a, b)[0, 1]) < Z / math.sqrt(len(a))
        assert abs(np.corrcoef(np.abs(a), np.abs(b))[0, 1]) < Z / math.sqrt(len(a))


def test_signs_are_fair_and_independent_of_size():
    q = rounded_gaussian(2.0**20, 1_000_000, SeededSource(5))
    for part in (q, q[np.abs(q) > 2.0**21], q[np.abs(q) < 2.0**18]):
        positive = np.count_nonzero(part > 0)
        assert stats.binomtest(positive, np.count_nonzero(part)).pvalue > THRESHOLD


def assert_tails(draws: int, sigmas: tuple[float, ...]) -> None:
    std, source = 2.0**16, SeededSource(6)
    beyond = dict.fromkeys(sigmas, 0)
    batch = 5_000_000
    for _ in range(draws // batch):
        size = np.abs(rounded_gaussian(std, batch, source))
        for sigma in sigmas:
            beyond[sigma] += np.count_nonzero(size >= sigma * std)
    for sigma, count in beyond.items():
        exact = 2 * stats.norm.sf((sigma * std - 0.5) / std)
        assert stats.binomtest(count, draws, exact).pvalue > THRESHOLD, sigma


def test_tails():
    assert_tails(10_000_000, (3.0, 4.0, 4.5, 5.0))


@pytest.mark.nightly
def test_tails_with_many_draws():
    assert_tails(300_000_000, (3.0, 4.0, 4.0625, 4.5, 5.0, 5.5, 6.0))


@pytest.mark.parametrize("exponent", [20, 35, 45])
def test_fine_grids_have_no_gaps(exponent):
    """The low bits are uniform, one by one and eight at a time."""
    q = rounded_gaussian(2.0**exponent, 1_000_000, SeededSource(7))
    for bit in range(exponent - 4):
        ones = np.count_nonzero(q >> bit & 1)
        assert abs(ones - len(q) / 2) < Z * math.sqrt(len(q)) / 2
    for shift in (0, 4, exponent - 12):
        counts = np.bincount(q >> shift & 255, minlength=256)
        assert stats.chisquare(counts).pvalue > THRESHOLD


@pytest.mark.parametrize("std", [1.0, 2.0**4, 100.3])
def test_coarse_grids_have_exact_cells(std):
    q = rounded_gaussian(std, 2_000_000, SeededSource(8))

    def pvalue(std: float, reach: int) -> float:
        """Chi-square of the cells' counts against differences of Phi."""
        edges = np.array([-np.inf, *np.arange(-reach, reach + 2) - 0.5, np.inf])
        counts = np.histogram(q, edges)[0]
        return stats.chisquare(counts, len(q) * np.diff(stats.norm.cdf(edges / std))).pvalue

    reach = round(3.5 * std)
    assert pvalue(std, reach) > THRESHOLD
    assert pvalue(1.01 * std, reach) < THRESHOLD
    assert pvalue(std / 1.01, reach) < THRESHOLD
