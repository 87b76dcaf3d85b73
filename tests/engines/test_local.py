# SPDX-License-Identifier: Apache-2.0
"""Sums are equal, not nearly equal, for every number of threads, block size and order of users."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.contributions import REGISTRY
from tacit.engines.local import LocalThreads

from ..property.examples import User, block_of, examples, n_items_of  # noqa: TID252 - as the registry tests

N_ITEMS = 60
EXAMPLES = examples(N_ITEMS)


@pytest.fixture(scope="module")
def users():
    rng = np.random.default_rng(5)
    sizes = [0, 0, *rng.integers(0, N_ITEMS, 60), N_ITEMS, 0]
    return [
        User(np.sort(rng.permutation(N_ITEMS)[:size]), rng.integers(1, 11, size) / 2)
        for size in sizes
    ]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_threads_blocks_and_order_change_nothing(name, users, rng):
    for contribution in EXAMPLES[name]:
        n = n_items_of(contribution)
        mine = [User(u.items[u.items < n], u.values[u.items < n]) for u in users]
        whole = block_of(mine, n)
        shuffled = block_of([mine[i] for i in rng.permutation(len(mine))], n)
        expected = contribution(whole)
        assert any(total.any() for total in expected.values())
        for threads in (1, 2, 4):
            for ratings_per_block in (1, 500, 10**9):
                for block in (whole, shuffled):
                    engine = LocalThreads(
                        block, threads=threads, ratings_per_block=ratings_per_block
                    )
                    total = engine.total(contribution)
                    for part in contribution.parts:
                        assert np.array_equal(total[part.name], expected[part.name])


def test_blocks_hold_every_user_once_and_whole(users):
    block = block_of(users, N_ITEMS)
    for size in (1, 10, 1000):
        pieces = list(block.split(size))
        assert sum(piece.n_users for piece in pieces) == block.n_users
        np.testing.assert_array_equal(np.concatenate([p.items for p in pieces]), block.items)
        lengths = np.concatenate([np.diff(p.indptr) for p in pieces])
        np.testing.assert_array_equal(lengths, np.diff(block.indptr))
        heavy = [p for p in pieces if len(p.items) > size]
        assert all(np.count_nonzero(np.diff(p.indptr)) == 1 for p in heavy)


def test_an_error_on_a_thread_reaches_the_caller(users):
    class Broken(REGISTRY["ItemCounts"]):
        def add(self, block, sums):
            raise MemoryError

    broken = Broken(N_ITEMS, EXAMPLES["ItemCounts"][0].rows)
    with pytest.raises(MemoryError):
        LocalThreads(block_of(users, N_ITEMS), threads=2, ratings_per_block=10).total(broken)
