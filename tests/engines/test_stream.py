# SPDX-License-Identifier: Apache-2.0
"""Rows on disk give the very sums that rows in memory give, and whatever fails there is heard."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from tacit.accounting.public import Public
from tacit.contributions import REGISTRY
from tacit.data.catalogue import Catalogue, Scale
from tacit.data.errors import DataError
from tacit.data.prepared import open_prepared
from tacit.data.preparing import prepare
from tacit.engines.local import LocalThreads
from tacit.engines.stream import BLOCKS_AHEAD, StreamedParquet, read_ahead
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import SeededSource
from tacit.solvers import SOLVERS

from ..property.examples import User, block_of, examples, n_items_of  # noqa: TID252 - as the registry tests

N_ITEMS = 60
EXAMPLES = examples(N_ITEMS)
GROUPS = (1, 300, 10**9)
SCALE = Scale(0.5, 5.0)


def stored(block, folder, ratings_per_group):
    """The block on disk, in row groups of about that many ratings."""
    folder.mkdir()
    catalogue = Catalogue(np.arange(block.n_items, dtype=np.int64), "file")
    prepare(folder, [block], block.n_users, catalogue, SCALE, ratings_per_group=ratings_per_group)
    return open_prepared(folder)


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def some_users():
    rng = np.random.default_rng(5)
    sizes = [0, 0, *rng.integers(0, N_ITEMS, 40), N_ITEMS, 0]
    rows = [(np.sort(rng.permutation(N_ITEMS)[:size]), rng.integers(1, 11, size)) for size in sizes]
    return [User(items, values / 2) for items, values in rows]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "personal"])
def places(request, tmp_path_factory):
    """For every catalogue size of the examples: a block in memory, and on disk in three ways."""
    found = {}
    for n in {n_items_of(each) for instances in EXAMPLES.values() for each in instances}:
        block = block_of(
            [User(u.items[u.items < n], u.values[u.items < n]) for u in some_users()], n
        )
        if request.param:
            own = np.linspace(0, 1, block.n_users, dtype=np.float32)
            block = replace(block, levels=own)
        folder = tmp_path_factory.mktemp(f"catalogue-of-{n}")
        found[n] = block, [stored(block, folder / str(size), size).rows for size in GROUPS]
    return found


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_sums_over_rows_on_disk_equal_those_over_rows_in_memory(name, places):
    for contribution in EXAMPLES[name]:
        block, on_disk = places[n_items_of(contribution)]
        expected = LocalThreads(block, threads=1).total(contribution)
        assert any(total.any() for total in expected.values())
        for rows, threads in zip(on_disk, (1, 2, 4), strict=True):
            assert equal(StreamedParquet(rows, threads=threads).total(contribution), expected)
        for threads in (1, 2, 4):
            engine = StreamedParquet(on_disk[1], threads=threads, ratings_per_block=50)
            assert equal(engine.total(contribution), expected)


def test_blocks_come_back_as_they_were_written(places):
    block, on_disk = places[N_ITEMS]
    for rows in on_disk:
        pieces = list(rows.blocks())
        assert [piece.first for piece in pieces] == list(
            np.cumsum([0, *(piece.n_users for piece in pieces[:-1])])
        )
        for name in ("items", "values"):
            found = np.concatenate([getattr(piece, name) for piece in pieces])
            np.testing.assert_array_equal(found, getattr(block, name))
        lengths = np.concatenate([np.diff(piece.indptr) for piece in pieces])
        np.testing.assert_array_equal(lengths, np.diff(block.indptr))
        assert rows.n_users == block.n_users


def test_what_changes_after_it_was_opened_is_never_added_up(tmp_path):
    """The rules hold for what is added up, not for what once was in the file."""
    block = block_of(some_users(), N_ITEMS)
    rows = stored(block, tmp_path / "rows", 300).rows
    twice = replace(block, items=np.zeros_like(block.items))
    shard = tmp_path / "rows" / rows.shards[0].name
    with pytest.raises(DataError, match="increasing order"):
        stored(twice, tmp_path / "broken", 300)
    good = shard.read_bytes()
    first = good.index(block.items.tobytes()[:64])
    shard.write_bytes(good[:first] + bytes(64) + good[first + 64 :])
    with pytest.raises(DataError, match="is not what was written"):
        open_prepared(tmp_path / "rows")
    contribution = EXAMPLES["ItemCounts"][0]
    with pytest.raises(DataError, match="increasing order"):
        StreamedParquet(rows, threads=2).total(contribution)
    for damaged in (good[:-200], b"", good.replace(b"values", b"valuez")):
        shard.write_bytes(damaged)
        with pytest.raises(DataError, match="is not what was written"):
            StreamedParquet(rows, threads=2).total(contribution)


def test_a_sum_that_breaks_off_counts_as_spent_and_names_nobody(tmp_path):
    rows = stored(block_of(some_users(), N_ITEMS), tmp_path / "rows", 300).rows
    public = Public(rows.n_users, N_ITEMS, low=1, high=5, mu=1.0)
    solver = SOLVERS["item-offsets"]()
    curator = DataCurator(StreamedParquet(rows), public, solver.plan(public), SeededSource(1))
    (tmp_path / "rows" / rows.shards[0].name).unlink()
    with pytest.raises(SumError, match="counts as spent") as caught:
        solver.fit(curator)
    assert caught.value.__context__ is None
    assert len(curator.ledger.releases) == 1


def test_only_so_many_blocks_wait():
    asked = []

    def blocks():
        for n in range(50):
            asked.append(n)
            yield n

    with read_ahead(blocks()) as arriving:
        for done, block in enumerate(arriving):
            assert block == done
            assert len(asked) <= done + BLOCKS_AHEAD + 3
    assert asked == list(range(50))


@pytest.mark.parametrize("taken", [0, 1, 49])
def test_a_reader_ends_when_nobody_wants_more(taken):
    def blocks():
        yield from range(50)

    with read_ahead(blocks()) as arriving:
        for _ in range(taken):
            next(arriving)
    assert not [each for each in threading.enumerate() if each.name == "tacit-read"]


def test_the_reader_s_error_reaches_the_caller():
    def blocks():
        yield 1
        raise DataError("the disk is gone")

    with read_ahead(blocks()) as arriving:
        assert next(arriving) == 1
        with pytest.raises(DataError, match="the disk is gone"):
            next(arriving)
        assert next(arriving, None) is None
