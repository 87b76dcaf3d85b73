# SPDX-License-Identifier: Apache-2.0
"""A block that breaks what bounds rest on does not get into an engine."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.block import UserBlock
from tacit.data.errors import DataError
from tacit.engines.local import LocalThreads

GOOD = UserBlock(
    indptr=np.array([0, 0, 3, 3, 5, 5]),
    items=np.array([0, 2, 6, 1, 6], np.int32),
    values=np.array([3.25, -1.5, 4.125, 2.0, 1e30], np.float32),
    n_items=7,
)


def integers(*numbers, dtype=np.int64):
    return np.array(numbers, dtype)


def items(*numbers):
    return integers(*numbers, dtype=np.int32)


TYPES, OFFSETS = "indptr must be int64", "indptr must rise from 0"
ITEMS, ORDER, VALUES = "items must be in 0..n_items - 1", "in increasing order, each once", "finite"
BROKEN = [
    (TYPES, {"indptr": GOOD.indptr.astype(np.int32)}),
    (TYPES, {"items": GOOD.items.astype(np.int64)}),
    (TYPES, {"values": GOOD.values.astype(np.float64)}),
    (TYPES, {"values": GOOD.values[:, None]}),
    (OFFSETS, {"indptr": integers()}),
    (OFFSETS, {"indptr": integers(0, 3)}),
    (OFFSETS, {"indptr": integers(1, 3, 5)}),
    (OFFSETS, {"indptr": integers(0, 3, 6)}),
    (OFFSETS, {"indptr": integers(0, 4, 3, 5)}),
    (OFFSETS, {"values": GOOD.values[:4]}),
    (OFFSETS, {"items": GOOD.items[:4]}),
    (ITEMS, {"items": items(0, 2, 7, 1, 6)}),
    (ITEMS, {"items": items(-1, 2, 6, 1, 6)}),
    (ORDER, {"items": items(0, 2, 2, 1, 6)}),
    (ORDER, {"items": items(0, 6, 2, 1, 6)}),
    (ORDER, {"items": items(0, 2, 6, 6, 6)}),
    (ORDER, {"indptr": integers(0, 5)}),
    (VALUES, {"values": np.array([1, 2, np.nan, 4, 5], np.float32)}),
    (VALUES, {"values": np.array([1, 2, 3, np.inf, 5], np.float32)}),
]


@pytest.mark.parametrize(("rule", "changes"), BROKEN, ids=map(str, range(len(BROKEN))))
def test_what_bounds_rest_on_is_checked_where_a_block_enters_an_engine(rule, changes):
    with pytest.raises(DataError, match=re.escape(rule)) as refused:
        LocalThreads(dataclasses.replace(GOOD, **changes))
    assert not re.search(r"[3-9]\.\d|e\+30", str(refused.value))


def test_a_block_that_keeps_the_rules_passes():
    GOOD.check()
    LocalThreads(GOOD)
    UserBlock(integers(0), items(), np.zeros(0, np.float32), 0).check()
    UserBlock(integers(0, 0, 0), items(), np.zeros(0, np.float32), 3).check()


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6))
def test_exactly_the_rows_that_rise_pass(rows):
    block = UserBlock(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        items(*(item for row in rows for item in row)),
        np.ones(sum(map(len, rows)), np.float32),
        10,
    )
    if all(row == sorted(set(row)) for row in rows):
        block.check()
    else:
        with pytest.raises(DataError, match=ORDER):
            block.check()
