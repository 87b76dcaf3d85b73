# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.bounding import grid


@given(st.floats(1e-100, 1e100), st.integers(1, grid.MOST_BITS))
def test_the_bound_is_a_whole_number_of_steps_exactly(l2, bits):
    assert grid.step_for(l2, bits) * grid.limit_for(bits) == l2


@pytest.mark.parametrize("l2", [0.0, -1.0, np.nan, np.inf])
def test_a_bound_that_is_none_is_refused(l2):
    with pytest.raises(ValueError, match="l2 must be a positive number"):
        grid.step_for(l2, 10)


@pytest.mark.parametrize("bits", [0, -1, 31])
def test_bits_beyond_int32_are_refused(bits):
    with pytest.raises(ValueError, match=r"bits must be in 1\.\.30"):
        grid.limit_for(bits)


def test_values_go_to_the_nearest_integers():
    values = np.array([0.26, -0.26, 0.24, 0.0, np.nan], np.float32)
    q = grid.snap(values, np.array([0, 2, 5], np.int64), 0.5, 100)
    assert q.dtype == np.int32
    assert q.tolist() == [1, -1, 0, 0, 0]


def test_dense_rows_are_snapped_each_by_itself():
    rows = np.array([[3.0, 4.0], [300.0, 400.0], [0.0, 0.0]], np.float32)
    q = grid.snap_dense(rows, 1.0, 5)
    assert q[0].tolist() == [3, 4]
    assert q[2].tolist() == [0, 0]
    assert 0 < int(q[1] @ q[1]) <= 25


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
def test_empty_factors_have_an_empty_answer(shape):
    assert grid.snap_dense(np.zeros(shape, np.float32), 1.0, 5).shape == shape


def test_factors_need_not_be_contiguous():
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(grid.snap_dense(rows[:, ::2], 1.0, 1000), rows[:, ::2])
