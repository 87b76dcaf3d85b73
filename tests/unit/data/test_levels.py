# SPDX-License-Identifier: Apache-2.0
"""Privacy levels of users: read from any row of theirs, carried with their rows, refused if odd."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.data.errors import DataError
from tacit.data.levels import as_levels
from tacit.data.split import held_out_users, rows_of, same_users
from tacit.evaluation.private import private_error
from tacit.evaluation.split import leave_k_out
from tacit.evaluation.trials import trial
from tacit.folding import FoldIn

ROWS = {"user": [3, 1, 1, 2, 3], "item": ["a", "a", "b", "b", "c"], "rating": [5, 4, 3, 2, 1]}


def table(privacy, name="privacy"):
    return pa.table({**ROWS, name: pa.array(privacy)})


def test_a_level_may_stand_on_any_row_of_its_user():
    read = tacit.read(table([None, 0.5, 0.5, None, 0.25]))
    assert read.personal
    assert read.block.levels.tolist() == [0.5, 1.0, 0.25]
    assert not tacit.read(pa.table(ROWS)).personal
    assert "0.25" not in repr(read) + repr(read.block)


def test_levels_are_named_like_other_columns_and_read_from_text(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating,weight\n1,a,5,0.75\n1,b,4,\n2,a,3,\n")
    assert not tacit.read(file).personal  # a weight may mean anything, unless one says so
    assert tacit.read(file, privacy="weight").block.levels.tolist() == [0.75, 1.0]


def test_levels_in_32_bits_are_never_above_what_was_declared():
    declared = np.array([0.3, 0.1, 1.0, 0.0, np.nan, 1e-50])
    found = as_levels(declared)
    assert np.all(found.astype(np.float64) <= np.nan_to_num(declared, nan=1.0))
    np.testing.assert_allclose(found, np.nan_to_num(declared, nan=1.0), rtol=1e-6, atol=1e-40)
    assert found[4] == 1.0


@pytest.mark.parametrize(
    ("privacy", "unit", "said"),
    [
        ([0.5, 2.0, None, None, None], "level", "row 2 is not a number from 0 to 1"),
        ([0.5, -0.1, None, None, None], "level", "row 2 is not a number from 0 to 1"),
        ([None, None, float("nan"), None, None], "level", "row 3 is not a number from 0 to 1"),
        (["x", None, None, None, None], "level", "row 1 is not a number from 0 to 1"),
        ([None, 0.5, 0.25, None, None], "level", "row 2 differs from another row of its user"),
        ([None, 0.0, None, None, None], "epsilon", "row 2 is not a finite number above 0"),
    ],
)
def test_what_is_no_level_is_refused_without_a_word_of_it(privacy, unit, said):
    with pytest.raises(DataError, match=said) as refused:
        tacit.read(table(privacy), privacy_unit=unit)
    assert not any(str(value) in str(refused.value) for value in (-0.1, 0.25, 2.0))


def test_epsilons_wait_for_the_budget():
    read = tacit.read(table([2.0, None, None, None, None]), privacy_unit="epsilon")
    assert read.personal
    assert read.block.levels is None
    np.testing.assert_array_equal(read.own_epsilons, [np.nan, np.nan, 2.0])


def test_every_way_to_take_rows_takes_levels_along():
    read = tacit.read(table([None, 0.5, 0.5, None, 0.25]))
    block = read.block
    assert block.rows(1, 3).levels.tolist() == [1.0, 0.25]
    assert [part.levels.tolist() for part in block.split(1)] == [[0.5], [1.0], [0.25]]
    assert block.keep(np.zeros(5, bool)).levels is block.levels
    assert block.with_values(block.values * 0).levels is block.levels
    assert rows_of(block, np.array([2, -1, 0])).levels.tolist() == [0.25, 1.0, 0.5]
    part = tacit.read(pa.table(ROWS).slice(0, 2), items=["a", "b", "c"])
    whole = tacit.read(table([None, 0.5, 0.5, None, 0.25]), items=["a", "b", "c"])
    assert same_users(part, whole).block.levels.tolist() == [0.5, 1.0, 0.25]
    held = held_out_users(read, 1)
    assert len(held.train.block.levels) == 2
    for half in leave_k_out(read):
        assert half.block.levels is block.levels


def test_positions_of_users_go_with_rows():
    block = tacit.read(pa.table(ROWS)).block
    assert block.first is block.rows(1, 2).first is None
    numbered = type(block)(block.indptr, block.items, block.values, 3, first=10)
    assert numbered.rows(2, 3).first == 12
    assert [part.first for part in numbered.split(1)] == [10, 11, 12]


@pytest.mark.parametrize(
    "levels",
    [np.ones(2, np.float32), np.ones(3), np.full(3, 1.5, np.float32), np.full(3, np.nan, "f4")],
)
def test_a_block_with_other_levels_is_refused(levels):
    block = tacit.read(pa.table(ROWS)).block
    odd = type(block)(block.indptr, block.items, block.values, 3, levels)
    with pytest.raises(DataError, match="levels must be one float32"):
        odd.check()


def test_a_private_figure_is_refused_where_levels_differ():
    read = tacit.read(table([None, 0.5, 0.5, None, 0.25]))
    fold = FoldIn(np.zeros((3, 1), np.float32))
    with pytest.raises(ValueError, match="privacy level of their own"):
        private_error(fold, trial(read, read), epsilon=1.0)
