# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels import rounded_gaussian as kernel
from tacit.kernels.reference.noise import ziggurat
from tacit.mechanisms import gaussian
from tacit.mechanisms.entropy import NoiseSource, SeededSource
from tacit.mechanisms.gaussian import add_noise, numerical_epsilon, rounded_gaussian


@pytest.mark.parametrize("symmetric", [False, True])
def test_no_noise_is_a_plain_copy(symmetric):
    sums = np.arange(12, dtype=np.int64).reshape(2, 6)
    copied = add_noise(sums, 0.0, NoiseSource(), symmetric=symmetric)
    assert copied is not sums
    np.testing.assert_array_equal(copied, sums)


@pytest.mark.parametrize("symmetric", [False, True])
def test_noise_is_added_to_the_sums_and_leaves_them_alone(symmetric):
    sums = np.random.default_rng(1).integers(-(2**60), 2**60, (5, 10))
    before = sums.copy()
    noisy = add_noise(sums, 1e6, SeededSource(1), symmetric=symmetric)
    noise = add_noise(np.zeros_like(sums), 1e6, SeededSource(1), symmetric=symmetric)
    np.testing.assert_array_equal(sums, before)
    np.testing.assert_array_equal(noisy - sums, noise)
    assert np.all(noise != 0)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0), (2, 3, 4)])
def test_shapes_are_kept(shape):
    noisy = add_noise(np.zeros(shape, np.int64), 1e6, NoiseSource(), symmetric=False)
    assert noisy.shape == shape
    assert noisy.dtype == np.int64


@pytest.mark.parametrize("std", [-1.0, 1e-3, 0.999, 2.0**46, math.inf, math.nan])
def test_a_scale_outside_the_proved_range_is_refused(std):
    with pytest.raises(ValueError, match=r"std must be between 1 and 2\^45 grid steps"):
        add_noise(np.zeros(3, np.int64), std, NoiseSource(), symmetric=False)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64])
def test_sums_must_be_int64(dtype):
    with pytest.raises(TypeError, match="sums must be int64"):
        add_noise(np.zeros(3, dtype), 5.0, NoiseSource(), symmetric=False)


def test_symmetric_sums_must_be_a_triangle():
    with pytest.raises(ValueError, match=r"r \(r \+ 1\) / 2 numbers on their last axis, got 7"):
        add_noise(np.zeros((3, 7), np.int64), 5.0, NoiseSource(), symmetric=True)


@pytest.mark.parametrize("rank", [1, 2, 3, 8, 33])
def test_the_diagonal_is_found_in_the_packed_triangle(rank):
    rows, columns = np.triu_indices(rank)
    found = gaussian._packed_diagonal(len(rows))
    np.testing.assert_array_equal(found, np.flatnonzero(rows == columns))


@given(st.floats(1.0, 2.0**45))
def test_the_scale_is_only_ever_rounded_up(std):
    short = gaussian._rounded_up(std)
    assert std <= short <= std * (1 + 2.0**-27)
    mantissa, _ = math.frexp(short)
    assert math.ldexp(mantissa, 28).is_integer()


@pytest.mark.parametrize("n", [1, 1000, 40_000])
def test_where_words_run_short_the_same_draw_goes_on(n, monkeypatch):
    """Not a new draw: dropping draws that need many words would favour the middle of the curve."""
    monkeypatch.setattr(gaussian, "_further", lambda std, n: 0)
    drawn = rounded_gaussian(2.0**40, n, SeededSource(8))
    first = min(n, gaussian._CHUNK)
    expected = np.empty(first, np.int64)
    assert kernel(SeededSource(8).words(10 * first + 100), ziggurat(), 2.0**40, expected)
    np.testing.assert_array_equal(drawn[:first], expected)


def test_successive_draws_differ():
    source = SeededSource(2)
    first, second = (rounded_gaussian(2.0**40, 1000, source) for _ in range(2))
    assert not np.any(first == second)


def test_numerical_part_of_epsilon():
    """A Gram matrix of rank 128 for each of 50 items, twice: about 840,000 numbers."""
    touched = 50 * 2 * (128 * 129 // 2 + 128)
    assert numerical_epsilon(touched) < 1e-8
    assert numerical_epsilon(2 * touched) == 2 * numerical_epsilon(touched)
