# SPDX-License-Identifier: Apache-2.0
"""The splits that published figures refer to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data.read import read
from tacit.data.split import by_rating, held_out_users, same_users


@pytest.fixture
def table(rng):
    pairs = rng.permutation(60 * 20)[:700]
    return pa.table({"user": pairs // 20, "item": pairs % 20, "rating": 1 + pairs % 5})


def test_by_rating_is_the_published_protocol(table):
    p = np.random.default_rng(0).random(len(table))
    train, validation, test = by_rating(table)
    assert train.equals(table.filter(p < 0.8))
    assert validation.equals(table.filter((p >= 0.8) & (p < 0.9)))
    assert test.equals(table.filter(p >= 0.9))


def test_by_rating_depends_on_the_seed(table):
    first, second = (by_rating(table, (0.5, 0.5), seed=seed)[0] for seed in (0, 1))
    assert not first.equals(second)


@pytest.mark.parametrize("fractions", [(1.0,), (0.5, 0.6), (1.2, -0.2)])
def test_by_rating_refuses_other_fractions(table, fractions):
    with pytest.raises(ValueError, match="add up to 1"):
        by_rating(table, fractions)


def test_same_users_keeps_rows_with_their_users(table):
    whole = read(table)
    part = read(table.filter(np.arange(len(table)) < 40), items=whole.catalogue)
    aligned = same_users(part, whole)
    assert aligned.n_users == whole.n_users > part.n_users
    assert aligned.user_ids is whole.user_ids
    for ratings in (part, aligned):
        rows = zip(
            ratings.user_ids[ratings.block.user_of_rating()],
            ratings.catalogue.ids[ratings.block.items],
            ratings.block.values,
            strict=True,
        )
        assert sorted(rows) == sorted(
            zip(*[c.to_pylist()[:40] for c in table.columns], strict=True)
        )


def test_same_users_refuses_what_does_not_belong(table):
    whole = read(table)
    part = read(table.slice(0, 40), items=whole.catalogue)
    with pytest.raises(ValueError, match="not among the users"):
        same_users(whole, part)
    with pytest.raises(ValueError, match="different catalogues"):
        same_users(read(table.slice(0, 40), items=[*range(30)]), whole)


def test_held_out_users_follow_the_protocol(table):
    ratings = read(table, feedback="implicit")
    parts = held_out_users(ratings, 12)
    chosen = sorted(np.random.default_rng(0).permutation(ratings.n_users)[:12])
    assert parts.history.user_ids.tolist() == parts.target.user_ids.tolist() == chosen
    assert not set(parts.train.user_ids) & set(chosen)
    assert parts.train.n_users + 12 == ratings.n_users
    rng = np.random.default_rng(1)
    for n, user in enumerate(chosen):
        items = ratings.block.rows(user, user + 1).items
        known = set(rng.permutation(items)[: int(0.8 * len(items))])
        assert set(parts.history.block.rows(n, n + 1).items) == known
        assert set(parts.target.block.rows(n, n + 1).items) == set(items) - known


def test_held_out_users_leave_the_others_whole(table):
    ratings = read(table)
    train = held_out_users(ratings, 5).train
    for n, user in enumerate(train.user_ids):
        mine, all_of_mine = train.block.rows(n, n + 1), ratings.block.rows(user, user + 1)
        assert np.array_equal(mine.items, all_of_mine.items)
        assert np.array_equal(mine.values, all_of_mine.values)


@pytest.mark.parametrize("keywords", [{"users": 60}, {"users": 0}, {"history": 1.0}])
def test_held_out_users_refuse_a_split_without_two_sides(table, keywords):
    with pytest.raises(ValueError, match="between 0 and 1"):
        held_out_users(read(table), **{"users": 10, **keywords})


@pytest.mark.data
def test_figures_of_movielens_100k(real_data):
    table = pq.read_table(real_data / "ml-100k" / "ratings.parquet")
    whole = read(table)
    parts = [same_users(read(part, items=whole.catalogue), whole) for part in by_rating(table)]
    assert {part.n_users for part in parts} == {943}
    assert sum(len(part.block.items) for part in parts) == 100_000
