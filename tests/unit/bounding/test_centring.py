# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from tacit.bounding import centring
from tacit.data.block import UserBlock

BLOCK = UserBlock(
    indptr=np.array([0, 3, 3, 4], np.int64),
    items=np.array([0, 2, 1, 2], np.int32),
    values=np.array([5.0, 4.0, 3.0, 1.0], np.float32),
    n_items=3,
)


def test_a_users_mean_is_taken_away():
    assert centring.centre(BLOCK).tolist() == [1.0, 0.0, -1.0, 0.0]


def test_item_offsets_go_first():
    offsets = np.array([1.0, 0.0, -1.0], np.float32)
    assert centring.user_means(BLOCK, offsets=offsets).tolist() == [4.0, 0.0, 2.0]
    assert centring.centre(BLOCK, offsets=offsets).tolist() == [0.0, 1.0, -1.0, 0.0]


def test_the_mean_is_drawn_towards_the_prior_by_its_strength():
    means = centring.user_means(BLOCK, prior=2.0, strength=1.0)
    assert means.tolist() == [(12 + 2) / 4, 2.0, (1 + 2) / 2]


def test_an_empty_row_has_the_prior_even_without_strength():
    assert centring.user_means(BLOCK, prior=2.5)[1] == 2.5


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf])
def test_a_strength_that_is_no_weight_is_refused(strength):
    with pytest.raises(ValueError, match="strength must be >= 0"):
        centring.centre(BLOCK, strength=strength)


def test_offsets_must_cover_the_catalogue():
    with pytest.raises(ValueError, match="one number per item"):
        centring.centre(BLOCK, offsets=np.zeros(2, np.float32))
