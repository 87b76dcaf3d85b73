# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from tacit.bounding import item_limit
from tacit.data.block import UserBlock

N_ITEMS = 20


def full_rows(users: int, rng: np.random.Generator) -> UserBlock:
    """Users who rated everything, each in another order."""
    items = np.concatenate([rng.permutation(N_ITEMS) for _ in range(users)]).astype(np.int32)
    indptr = np.arange(users + 1, dtype=np.int64) * N_ITEMS
    return UserBlock(indptr, items, items.astype(np.float32), N_ITEMS)


def test_the_rarest_items_are_kept_and_ties_go_by_index(rng):
    counts = np.full(N_ITEMS, 7.0)
    counts[[3, 11]] = [-2.5, 6.0]
    limited = item_limit.rarest_first(full_rows(2, rng), 4, noisy_counts=counts)
    for row in limited.items.reshape(2, 4):
        assert sorted(row.tolist()) == [0, 1, 3, 11]
    assert np.array_equal(limited.values, limited.items.astype(np.float32))


def test_the_uniform_choice_ignores_the_order_of_a_row_and_follows_the_seed(rng):
    block = full_rows(2, rng)
    one, two = item_limit.uniform(block, 6, seed=1).items.reshape(2, 6)
    assert set(one.tolist()) == set(two.tolist())
    other = item_limit.uniform(block, 6, seed=2).items[:6]
    assert set(one.tolist()) != set(other.tolist())


@pytest.mark.statistical
def test_the_uniform_choice_prefers_no_item(rng):
    """5 of 10 items over 20,000 different rows: each item is kept half of the times."""
    users, catalogue = 20_000, 60
    items = np.argsort(rng.random((users, catalogue)), axis=1)[:, :10].astype(np.int32)
    indptr = np.arange(users + 1, dtype=np.int64) * 10
    block = UserBlock(indptr, items.reshape(-1), np.ones(users * 10, np.float32), catalogue)
    limited = item_limit.uniform(block, 5, seed=0)
    rated = np.bincount(block.items, minlength=catalogue)
    share = np.bincount(limited.items, minlength=catalogue) / rated
    assert (np.abs(share - 0.5) < 6 * 0.5 / np.sqrt(rated)).all()


def test_a_mask_keeps_every_user_even_with_nothing_left(rng):
    block = full_rows(3, rng)
    mask = np.zeros(3 * N_ITEMS, np.bool_)
    mask[[0, 2, 2 * N_ITEMS]] = True
    small = block.keep(mask)
    assert small.indptr.tolist() == [0, 2, 2, 3]
    assert np.array_equal(small.items, block.items[mask])


def test_bad_arguments_are_refused(rng):
    block = full_rows(1, rng)
    with pytest.raises(ValueError, match="at least 1 rating"):
        item_limit.uniform(block, 0, seed=0)
    with pytest.raises(ValueError, match="one per item"):
        item_limit.rarest_first(block, 1, noisy_counts=np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        item_limit.rarest_first(block, 1, noisy_counts=np.full(N_ITEMS, np.nan))
