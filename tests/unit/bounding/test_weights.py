# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from tacit.bounding import weights
from tacit.data.block import UserBlock

BLOCK = UserBlock(
    indptr=np.array([0, 2, 2, 6], np.int64),
    items=np.array([0, 1, 0, 1, 2, 3], np.int32),
    values=np.ones(6, np.float32),
    n_items=4,
)


def test_uniform_weights_are_one_over_root_n():
    np.testing.assert_allclose(weights.uniform(BLOCK), [0.5**0.5] * 2 + [0.5] * 4, rtol=1e-8)


def test_adaptive_weights_follow_the_power_law_within_a_row():
    counts = np.array([100.0, 1.0, -30.0, 16.0])
    w = weights.adaptive(BLOCK, noisy_counts=counts, power=0.5, floor=4.0)
    wanted = np.array([0.1, 0.5, 0.5, 0.25])
    np.testing.assert_allclose(w[2:], wanted / np.linalg.norm(wanted), rtol=1e-8)
    np.testing.assert_allclose(w[:2], wanted[:2] / np.linalg.norm(wanted[:2]), rtol=1e-8)


def test_power_zero_is_uniform():
    w = weights.adaptive(BLOCK, noisy_counts=np.arange(4.0), power=0.0)
    np.testing.assert_allclose(w, weights.uniform(BLOCK), rtol=1e-12)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="one per item"):
        weights.adaptive(BLOCK, noisy_counts=np.zeros(3), power=1.0)
    with pytest.raises(ValueError, match="floor must be > 0"):
        weights.adaptive(BLOCK, noisy_counts=np.zeros(4), power=1.0, floor=0.0)
    with pytest.raises(ValueError, match="power finite"):
        weights.adaptive(BLOCK, noisy_counts=np.zeros(4), power=np.inf)
