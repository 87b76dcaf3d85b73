# SPDX-License-Identifier: Apache-2.0
"""Rows come out in order, each user once and whole, however many parts they are sorted in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
import tacit.data.sorting
from tacit.data.errors import DataError
from tacit.data.sorting import Sorter

N_USERS, N_ITEMS = 6, 5
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 2, 3, 5]),  # users 1 and 4 have no rows
        st.integers(0, N_ITEMS - 1),
        st.integers(1, 3),
        st.integers(0, 3),
    ),
    max_size=40,
)


def sorted_in_parts(rows, batch, part, folder, *, timed):
    """All rows as (user, item, value, time), after they went through the sorter in batches."""
    columns = [*np.array(rows, np.int64).reshape(-1, 4).T]
    kinds = (np.int32, np.int32, np.float32, np.int64)
    arrays = [pa.array(c.astype(kind)) for c, kind in zip(columns, kinds, strict=True)]
    names = ["u", "i", "v", "t"] if timed else ["u", "i", "v"]
    table = pa.Table.from_arrays(arrays[: len(names)], names)
    counts = np.bincount(columns[0], minlength=N_USERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tacit.data.sorting, "PART", part)
        sorter = Sorter(counts, N_ITEMS, folder)
        sorter.add(table.to_batches(batch))
        found, users = [], 0
        for block, times in sorter.parts():
            assert block.first == users
            users += block.n_users
            assert (times is not None) == (timed and bool(rows))
            u = block.user_of_rating() + block.first
            t = np.zeros(len(u)) if times is None else times
            found += zip(u, block.items, block.values, t, strict=True)
    assert users == N_USERS
    return found


@given(rows=ROWS, batch=st.integers(1, 50), part=st.integers(1, 50))
def test_every_row_comes_out_in_order(rows, batch, part, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    timed = sorted_in_parts(rows, batch, part, folder, timed=True)
    assert timed == sorted(rows, key=lambda row: (row[0], row[1], row[3], row[2]))
    found = sorted_in_parts(rows, batch, part, folder, timed=False)
    assert [row[:2] for row in found] == sorted(row[:2] for row in rows)
    assert sorted(row[:3] for row in found) == sorted(row[:3] for row in rows)


@given(rows=ROWS.filter(lambda rows: len({row[0] for row in rows}) > 1), part=st.integers(1, 50))
def test_of_a_repeated_pair_the_last_stays_whatever_the_parts(rows, part):
    u, i, v, t = zip(*rows, strict=True)
    table = pa.table({"user": u, "item": i, "rating": np.float32(v), "time": t})
    last = {row[:2]: row[2] for row in sorted(rows, key=lambda row: (*row[:2], row[3], row[2]))}
    tied = len({(u, i, t) for u, i, _, t in rows}) < len(set(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tacit.data.sorting, "PART", part)
        if len(last) < len(rows):
            with pytest.raises(DataError, match=r"row \d+ repeats the user and item"):
                tacit.read(table, stream=True)
        if tied:
            with pytest.raises(DataError, match="rated an item twice at the same time"):
                tacit.read(table, duplicates="last")
            return
        found = tacit.read(table, duplicates="last")
    block, users, items = found.block, found.user_ids, found.catalogue.ids
    pairs = zip(users[block.user_of_rating()], items[block.items], strict=True)
    assert dict(zip(pairs, block.values, strict=True)) == last
    assert len(block.items) == len(last)


def test_many_parts_are_told_apart(tmp_path, monkeypatch):
    """More than 16 bits can number."""
    monkeypatch.setattr(tacit.data.sorting, "PART", 1)
    n = 70_000
    order = np.random.default_rng(0).permutation(n).astype(np.int32)
    sorter = Sorter(np.ones(n, np.int64), n, tmp_path)
    sorter.add([pa.record_batch({"u": order, "i": n - 1 - order, "v": order.astype(np.float32)})])
    found = np.concatenate([block.items for block, _ in sorter.parts()])
    assert np.array_equal(found, np.arange(n)[::-1])
