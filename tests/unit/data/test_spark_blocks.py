# SPDX-License-Identifier: Apache-2.0
"""What an executor does while reading, without Spark: sorted rows become blocks of whole users."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tacit.data.spark_blocks import (
    OTHER_MACHINE,
    REPEATED,
    TIED,
    UNEVEN,
    Encoding,
    ExecutorError,
    decoded,
    machine,
    whole_users,
)


def batches(users, items, values, size=3, **more):
    columns = {
        "user": pa.array(users),
        "item": pa.array(items, pa.int32()),
        "rating": pa.array(values, pa.float32()),
        **{name: pa.array(column) for name, column in more.items()},
    }
    return pa.table(columns).to_batches(max_chunksize=size)


def encoded(rows, n_items=10, duplicates="refuse", at_least=4, on=None):
    encoding = Encoding(n_items, duplicates, on or machine(), at_least)
    for batch in encoding.encoded(rows):
        for row in batch.to_pylist():
            yield decoded(Row(**row), n_items)


class Row(SimpleNamespace):
    """As Spark's: fields by name, also those that are named like a method."""

    def __getitem__(self, name):
        return getattr(self, name)


def test_blocks_hold_every_user_once_and_whole():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 10, 40)
    users = np.repeat(np.arange(40), sizes)
    items = np.concatenate([np.sort(rng.permutation(10)[:n]) for n in sizes])
    values = rng.random(len(users)).astype(np.float32)
    for size in (1, 2, 7, 1000):
        for at_least in (1, 5, 10**6):
            found = list(encoded(batches(users, items, values, size), at_least=at_least))
            assert all(one.fault == "" for one in found)
            blocks = [one.block for one in found]
            np.testing.assert_array_equal(np.concatenate([b.items for b in blocks]), items)
            np.testing.assert_array_equal(np.concatenate([b.values for b in blocks]), values)
            lengths = np.concatenate([np.diff(b.indptr) for b in blocks])
            np.testing.assert_array_equal(lengths, sizes)


def test_a_user_with_a_million_rows_is_one_block_and_looked_at_a_few_times(monkeypatch):
    n = 1_000_000
    users = np.concatenate([np.zeros(5), np.ones(n), np.full(5, 2)]).astype(np.int64)
    items = np.concatenate([np.arange(5), np.arange(n), np.arange(5)])
    looked = []
    original = pa.Table.from_batches
    rows = batches(users, items, np.ones(n + 10), size=10_000)
    fake = SimpleNamespace(from_batches=lambda some: looked.append(len(some)) or original(some))
    monkeypatch.setattr("tacit.data.spark_blocks.pa.Table", fake)
    tables = list(whole_users(rows, 1 << 14))
    assert [len(table) for table in tables] == [5, n + 5]
    assert len(looked) < 15


def test_an_unknown_item_leaves_the_user_with_an_empty_row():
    (one,) = encoded(batches(["a", "a", "b"], [None, 3, None], [1, 2, 3]), at_least=9)
    assert one.block.indptr.tolist() == [0, 1, 1]
    assert one.block.items.tolist() == [3]


def test_of_repeated_rows_the_last_stays_or_they_are_refused():
    rows = batches(["a", "a", "b"], [3, 3, 3], [1, 2, 3], time=[1, 2, 1])
    (one,) = encoded(rows, duplicates="last")
    assert one.block.values.tolist() == [2, 3]
    assert next(encoded(rows)).fault == REPEATED
    tied = batches(["a", "a", "b"], [3, 3, 3], [1, 2, 3], time=[1, 1, 1])
    assert next(encoded(tied, duplicates="last")).fault == TIED
    across = batches(["a", "b", "b"], [3, 3, 4], [1, 2, 3], time=[1, 1, 1])
    assert next(encoded(across)).fault == ""


def test_a_user_has_one_level():
    nan = float("nan")
    rows = batches(["a", "a", "b"], [3, 4, 3], [1, 2, 3], privacy=[nan, 0.5, nan])
    (one,) = encoded(rows)
    assert one.block.levels.tolist() == [0.5, 1.0]
    rows = batches(["a", "a", "b"], [3, 4, 3], [1, 2, 3], privacy=[0.25, 0.5, nan])
    assert next(encoded(rows)).fault == UNEVEN


def test_another_version_or_other_kernels_are_found_out():
    (one,) = encoded(batches(["a"], [3], [1]), on=("0", "none"))
    assert one.fault == OTHER_MACHINE


def test_what_breaks_is_told_without_words():
    def breaking():
        yield from batches(["a"], [3], [1])
        raise ValueError("quartz-zebra")

    with pytest.raises(ExecutorError, match=r"^rows could not be encoded \(ValueError\)$") as told:
        list(encoded(breaking()))
    assert told.value.__context__ is None
