# SPDX-License-Identifier: Apache-2.0
"""The MovieLens-like generator: what it promises about rows, values and shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.datasets import movielens_like, netflix_like, yahoo_like


@settings(max_examples=25)
@given(
    users=st.integers(1, 60),
    items=st.integers(1, 80),
    share=st.floats(0, 1),
    rank=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_rows_are_distinct_items_and_the_total_is_exact(users, items, share, rank, seed):
    most = max(1, round(0.7 * items)) * users
    ratings = max(users, int(share * most))
    made = movielens_like(users, items, ratings, rank, seed=seed)
    block = made.block
    assert block.indptr[0] == 0
    assert block.indptr[-1] == len(block.items) == len(block.values) == ratings
    assert np.all(np.diff(block.indptr) >= 1)
    keys = block.user_of_rating() * items + block.items
    assert np.all(np.diff(keys) > 0)  # sorted by user then item, none twice
    assert block.items.min() >= 0
    assert block.items.max() < items


@pytest.mark.parametrize(("half_stars", "low", "step"), [(True, 0.5, 0.5), (False, 1.0, 1.0)])
def test_values_lie_on_the_grid_of_the_scale(half_stars, low, step):
    made = movielens_like(100, 50, 1500, half_stars=half_stars)
    assert (made.scale.low, made.scale.high) == (low, 5.0)
    assert set(np.unique(made.block.values)) == set(np.arange(low, 5.1, step, dtype=np.float32))


def test_same_seed_same_ratings_other_seed_other_ratings():
    one, same, other = (movielens_like(50, 60, 900, seed=s) for s in (3, 3, 4))
    assert np.array_equal(one.block.items, same.block.items)
    assert np.array_equal(one.block.values, same.block.values)
    assert not np.array_equal(one.block.values, other.block.values)


def test_shape_is_that_of_movielens_10m():
    """A tenth of its users with its lengths of rows: least 20, median about 72, long tails."""
    made = movielens_like(6_988, 10_677, 800_000)
    lengths = np.diff(made.block.indptr)
    assert 20 <= lengths.min() <= 22
    assert 66 <= np.median(lengths) <= 78
    assert lengths.max() > 1500
    counts = np.sort(np.bincount(made.block.items, minlength=made.n_items))[::-1]
    assert counts[: made.n_items // 100].sum() > 0.2 * counts.sum()
    assert 0.3 * made.n_users < counts[0] < 0.6 * made.n_users
    assert 0.9 < made.block.values.std() < 1.1


def test_values_are_low_rank_plus_offsets_plus_noise():
    """In a nearly full matrix the taste of rank 2 is the top of the spectrum."""
    made = movielens_like(400, 300, 80_000, rank=2)
    full = np.full((400, 300), np.nan)
    full[made.block.user_of_rating(), made.block.items] = made.block.values
    full -= np.nanmean(full, axis=1, keepdims=True)
    full -= np.nanmean(full, axis=0, keepdims=True)
    spectrum = np.linalg.svd(np.nan_to_num(full), compute_uv=False)
    assert spectrum[1] > 1.5 * spectrum[2]
    assert spectrum[2] < 1.2 * spectrum[3]


@pytest.mark.parametrize(
    ("users", "items", "ratings"), [(10, 10, 9), (10, 10, 71), (0, 5, 5), (5, 0, 5), (5, 5, 0)]
)
def test_impossible_sizes_are_refused(users, items, ratings):
    with pytest.raises(ValueError, match="ratings"):
        movielens_like(users, items, ratings)


def test_netflix_has_the_lengths_and_the_popularity_of_the_prize():
    """Mean 209 and median 96 ratings a user; 44% of the ratings on 500 movies, by paper 004."""
    made = netflix_like(0.01)
    lengths = np.diff(made.block.indptr)
    assert (made.n_users, made.n_items) == (4_802, 17_770)
    assert (made.scale.low, made.scale.high) == (1, 5)
    assert 205 < lengths.mean() < 213
    assert 88 < np.median(lengths) < 104
    counts = np.sort(np.bincount(made.block.items, minlength=made.n_items))[::-1]
    assert 0.41 < counts[:500].sum() / counts.sum() < 0.47
    assert 0.4 < counts[0] / made.n_users < 0.6
    assert set(np.unique(made.block.values)) == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_yahoo_has_its_size_and_a_finer_scale():
    made = yahoo_like(0.002, 0.05)
    lengths = np.diff(made.block.indptr)
    assert (made.n_users, made.n_items) == (2_002, 31_248)
    assert 255 < lengths.mean() < 270
    assert lengths.min() >= 20
    assert (made.scale.low, made.scale.high) == (0, 5)
    np.testing.assert_allclose(made.block.values * 20, np.rint(made.block.values * 20), atol=1e-4)
    assert not np.signbit(made.block.values).any()
