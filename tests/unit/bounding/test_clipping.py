# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from tacit.bounding import clipping


def test_values_are_clipped_and_nan_is_zero():
    values = np.array([-9.0, -0.5, np.nan, 0.5, np.inf], np.float32)
    assert clipping.clip_values(values, 2.0).tolist() == [-2.0, -0.5, 0.0, 0.5, 2.0]


def test_a_bound_that_float32_rounds_up_is_still_kept():
    assert np.float64(np.float32(0.1)) > 0.1
    assert np.float64(clipping.clip_values(np.ones(1, np.float32), 0.1)[0]) <= 0.1


def test_long_rows_are_shortened_and_short_rows_are_left_alone():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], np.float32)
    short = clipping.clip_norms(rows, 1.0)
    np.testing.assert_allclose(short[0], [0.6, 0.8], rtol=1e-6)
    assert np.array_equal(short[1:], rows[1:])


def test_whole_rows_of_a_block_are_shortened_each_by_itself():
    values = np.array([3.0, 4.0, 0.1], np.float32)
    short = clipping.clip_rows(values, np.array([0, 2, 2, 3], np.int64), 1.0)
    np.testing.assert_allclose(short, [0.6, 0.8, 0.1], rtol=1e-6)


def test_an_infinite_entry_keeps_the_row_finite():
    rows = np.array([[np.inf, 1.0], [-np.inf, np.nan]], np.float32)
    wanted = [[2.0, 0.0], [-2.0, 0.0]]
    np.testing.assert_allclose(clipping.clip_norms(rows, 2.0), wanted, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_a_bound_that_is_none_is_refused(bound):
    rows = np.ones((1, 2), np.float32)
    for clip in (
        lambda: clipping.clip_values(rows, bound),
        lambda: clipping.clip_norms(rows, bound),
        lambda: clipping.clip_rows(rows[0], np.array([0, 2], np.int64), bound),
    ):
        with pytest.raises(ValueError, match="bound must be > 0"):
            clip()
