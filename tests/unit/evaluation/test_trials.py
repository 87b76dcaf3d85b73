# SPDX-License-Identifier: Apache-2.0
"""Users and items are matched by id; splits are those that are published."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data.read import read
from tacit.data.split import held_out_users
from tacit.evaluation import Protocol, Trial, evaluate, leave_k_out, leave_part_out, trial
from tacit.evaluation.trials import positions
from tacit.solvers import SOLVERS


def table(rows):
    users, items, ratings = zip(*rows, strict=True)
    return pa.table({"user": users, "item": items, "rating": ratings})


TRAIN = table([(1, 10, 5), (1, 20, 3), (2, 10, 4), (3, 30, 1)])


def rows(trial, part, user):
    return getattr(trial, part).rows(user, user + 1).items.tolist()


def test_rows_are_matched_and_strangers_counted():
    test = table([(9, 20, 5), (2, 30, 2), (2, 77, 2), (1, 30, 1)])
    judged = trial(read(TRAIN), read(test))
    assert [rows(judged, "target", user) for user in range(3)] == [[2], [2], [1]]
    assert [rows(judged, "history", user) for user in range(3)] == [[0, 1], [0], []]
    assert (judged.left_out, judged.without_history) == (1, 1)
    assert judged.popularity.tolist() == [2, 1, 1]
    assert judged.target.values.tolist() == [1, 2, 5]


def test_history_may_be_given_apart():
    past = table([(8, 30, 4), (8, 55, 4), (9, 20, 4)])
    test = table([(8, 10, 5), (9, 10, 5)])
    judged = trial(read(TRAIN), read(test), history=read(past))
    assert [rows(judged, "history", user) for user in range(2)] == [[2], [1]]


@pytest.mark.parametrize(
    ("wanted", "among"),
    [([5, 7, 6], [6, 5]), (["5", "7", "6"], [6, 5]), ([5, 7, 6], ["6", "5"])],
)
def test_ids_match_whatever_their_type(wanted, among):
    arrays = [
        np.array(ids, np.int64 if isinstance(ids[0], int) else object) for ids in (wanted, among)
    ]
    assert positions(*arrays).tolist() == [1, -1, 0]


def test_strangers_are_split_as_held_out_users_are(rng):
    pairs = rng.permutation(40 * 30)[:600]
    ratings = read(pa.table({"user": pairs // 30, "item": pairs % 30, "rating": 1 + pairs % 5}))
    held = held_out_users(ratings, 8)
    block = ratings.block
    chosen = np.isin(ratings.user_ids[block.user_of_rating()], held.target.user_ids)
    ids = (ratings.user_ids[block.user_of_rating()], ratings.catalogue.ids[block.items])
    both = pa.table({"user": ids[0], "item": ids[1], "rating": block.values}).filter(chosen)
    judged = trial(held.train, read(both), split_strangers=True)
    for mine, theirs in ((judged.history, held.history.block), (judged.target, held.target.block)):
        assert np.array_equal(mine.indptr, theirs.indptr)
        assert np.array_equal(mine.items, theirs.items)
        assert np.array_equal(mine.values, theirs.values)
    assert judged.without_history == 0


def test_leave_k_out(rng):
    pairs = rng.permutation(50 * 20)[:300]
    ratings = read(pa.table({"user": pairs // 20, "item": pairs % 20, "rating": 1 + pairs % 5}))
    train, test = leave_k_out(ratings, 3)
    before = np.diff(ratings.block.indptr)
    assert np.diff(test.block.indptr).tolist() == np.where(before > 3, 3, 0).tolist()
    for user in range(ratings.n_users):
        parts = [part.block.rows(user, user + 1).items for part in (train, test)]
        whole = ratings.block.rows(user, user + 1).items
        assert sorted(np.concatenate(parts).tolist()) == whole.tolist()
    other = leave_k_out(ratings, 3, seed=1)[1]
    assert not np.array_equal(other.block.items, test.block.items)


def test_leave_k_out_is_uniform():
    ratings = read(table([(user, item, 3) for user in range(3000) for item in range(5)]))
    left = leave_k_out(ratings, 2)[1]
    counts = np.bincount(left.block.items, minlength=5)
    assert np.all(np.abs(counts - 1200) < 6 * np.sqrt(3000 * 0.4 * 0.6))


def test_leave_part_out_and_bad_sizes():
    ratings = read(table([(user, item, 3) for user in range(100) for item in range(50)]))
    train, test = leave_part_out(ratings, 0.2)
    assert len(train.block.items) + len(test.block.items) == 5000
    assert abs(len(test.block.items) - 1000) < 6 * np.sqrt(800)
    with pytest.raises(ValueError, match="k must be"):
        leave_k_out(ratings, 0)
    with pytest.raises(ValueError, match="share must be"):
        leave_part_out(ratings, 1.0)


@pytest.mark.data
def test_popularity_on_held_out_users_of_movielens_1m(real_data):
    """Recall@20 of the popularity baseline by the published protocol is 0.184."""
    ratings = read(pq.read_table(real_data / "ml-1m" / "ratings.parquet"), feedback="implicit")
    held = held_out_users(ratings)
    counts = np.bincount(held.train.block.items, minlength=ratings.n_items)
    judged = Trial(held.history.block, held.target.block, counts, (0.0, 1.0))
    report = evaluate(
        held.train, judged, SOLVERS["popularity"](), epsilon=np.inf, protocol=Protocol(seeds=1)
    )
    assert report.mean["recall@20"] == pytest.approx(0.184, abs=0.002)
