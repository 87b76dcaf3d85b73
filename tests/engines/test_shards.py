# SPDX-License-Identifier: Apache-2.0
"""Sums made shard by shard are the sums made at once, and nobody holds more than a shard."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.engines.shards import Sizes, added_up, shards_of

from ..property.examples import User, block_of, examples, n_items_of  # noqa: TID252 - as the registry tests

N_ITEMS = 50
EXAMPLES = examples(N_ITEMS)
ALL = [
    pytest.param(each, id=f"{name}-{i}")
    for name, instances in EXAMPLES.items()
    for i, each in enumerate(instances)
]


def users(n_items, seed=3):
    rng = np.random.default_rng(seed)
    sizes = [0, n_items, *rng.integers(0, n_items, 30)]
    return [User(np.sort(rng.permutation(n_items)[:n]), rng.integers(1, 11, n) / 2) for n in sizes]


def total(contribution, blocks, sizes):
    """What a driver makes of the pieces, and the most bytes that one array behind them had."""
    sums = contribution.zeros()
    places = [place for shard in shards_of(contribution.parts, sizes) for place in shard.places]
    largest = 0
    for number, piece in added_up(contribution, blocks, sizes):
        part, start, stop = places[number]
        assert len(piece) <= sizes.piece
        sums[part].reshape(-1)[start:stop] += piece
        base = piece
        while isinstance(base.base, np.ndarray):
            base = base.base
        largest = max(largest, base.nbytes)
    return sums, largest


@pytest.mark.parametrize("contribution", ALL)
@pytest.mark.parametrize("held", [1, 3000, 1 << 28])
def test_any_division_gives_the_same_sums(contribution, held):
    whole = block_of(users(n_items_of(contribution)), n_items_of(contribution))
    expected = contribution(whole)
    blocks = list(whole.split(100))
    width = sum(part.shape[1] for part in contribution.parts if part.by_item)
    for shard in (1, 3 * width + 1, 10 * width, 10**9):
        sizes = Sizes(shard=shard, piece=7, held=held)
        found, _ = total(contribution, iter(blocks), sizes)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("name", ["ItemGramsAndGradient", "LeastSquares", "GramAndGradient"])
def test_no_more_than_a_shard_is_added_up_at_a_time(name):
    contribution = EXAMPLES[name][0]
    whole = block_of(users(N_ITEMS), N_ITEMS)
    widths = {part.name: part.shape[1] for part in contribution.parts if part.by_item}
    sizes = Sizes(shard=10 * sum(widths.values()), piece=64)
    _, largest = total(contribution, iter([whole]), sizes)
    assert largest == 8 * 10 * max(widths.values())
    _, at_once = total(contribution, iter([whole]), Sizes())
    assert at_once == 8 * N_ITEMS * max(widths.values())


def test_sums_by_item_are_those_with_a_row_for_each_item():
    """What is cut into ranges of items by its shape is by item, and never a mere table."""
    for instances in EXAMPLES.values():
        for contribution in instances:
            by_item = [part for part in contribution.parts if part.by_item]
            assert all(part.shape[0] == n_items_of(contribution) for part in by_item)


def test_users_work_their_shares_out_once_for_all_shards(monkeypatch):
    contribution = EXAMPLES["ItemGramsAndGradient"][0]
    blocks = list(block_of(users(N_ITEMS), N_ITEMS).split(100))
    asked, real = [], type(contribution).add
    monkeypatch.setattr(type(contribution), "add", lambda *given: asked.append(1) or real(*given))
    pieces = list(added_up(contribution, iter(blocks), Sizes(shard=1, piece=1 << 20)))
    assert len(pieces) >= N_ITEMS
    assert len(asked) == len(blocks)


def test_no_block_no_piece():
    for contribution in (EXAMPLES["LeastSquares"][0], EXAMPLES["ItemCounts"][0]):
        assert list(added_up(contribution, iter([]), Sizes(shard=1))) == []
