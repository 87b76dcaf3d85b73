# SPDX-License-Identifier: Apache-2.0
"""Ratings with the shape of MovieLens 10M: heavy-tailed users and items, low rank, stars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.catalogue import Scale
from tacit.datasets.experiment import assemble, index_pointers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings

# Shape of MovieLens 10M, relative to the mean of 114.5 ratings a user: least 20, median 72.
_LEAST = 20 / 114.5
_LOG_SPREAD = 1.09
_MOST = 0.7  # of the catalogue: the longest row there
# Zipf-Mandelbrot: the offset keeps the most rated item near half of the users instead of all.
_RANK_OFFSET = 30
# Standard deviations in stars; together about 1.06, as there.
_MEAN, _USER, _ITEM, _TASTE, _NOISE = 3.5, 0.4, 0.45, 0.45, 0.75
_CHUNK = 8192  # users made at a time, so that memory stays near the size of the result


def movielens_like(
    users: int = 69_878,
    items: int = 10_677,
    ratings: int = 8_000_000,
    rank: int = 16,
    *,
    seed: int = 0,
    half_stars: bool = True,
) -> Ratings:
    """Exactly `ratings` ratings on a star grid, no item twice for a user; same seed, same ratings.

    Ratings per user are log-normal above a least one (20 and median 72 at the default sizes),
    items are drawn by a Zipf-like popularity, values are a mean, user and item offsets, a taste of
    the given rank and noise, rounded to half stars 0.5 to 5 or to whole stars 1 to 5.

    Raises:
        ValueError: if the sizes leave no room for that many ratings.
    """
    which = np.empty(max(ratings, 0), np.int32)
    values = np.empty(max(ratings, 0), np.float32)
    lengths, done = [], 0
    for block in movielens_blocks(users, items, ratings, rank, seed=seed, half_stars=half_stars):
        here = slice(done, done + len(block.items))
        which[here], values[here] = block.items, block.values
        lengths.append(np.diff(block.indptr))
        done = here.stop
    indptr = index_pointers(np.concatenate(lengths))
    return assemble(UserBlock(indptr, which, values, items), stars(half_stars=half_stars))


def stars(*, half_stars: bool) -> Scale:
    """The scale of the ratings."""
    return Scale(0.5 if half_stars else 1.0, 5.0)


def movielens_blocks(
    users: int,
    items: int,
    ratings: int,
    rank: int = 16,
    *,
    seed: int = 0,
    half_stars: bool = True,
) -> Iterator[UserBlock]:
    """The users of `movielens_like` some thousands at a time, in memory that does not grow."""
    rng = np.random.default_rng(seed)
    counts = _row_lengths(users, items, ratings, rng)
    popularity = np.reciprocal(_RANK_OFFSET + 1.0 + rng.permutation(items), dtype=np.float64)
    offsets = rng.normal(0, _ITEM, items).astype(np.float32)
    taste = rng.standard_normal((items, rank), np.float32)
    scale, step = stars(half_stars=half_stars), np.float32(0.5 if half_stars else 1.0)
    for start in range(0, users, _CHUNK):
        row_lengths = counts[start : start + _CHUNK]
        rows, which = _distinct_items(row_lengths, popularity, rng)
        exact = _tastes(rows, which, taste, rng) + offsets[which]
        exact += rng.normal(_MEAN, _USER, len(row_lengths)).astype(np.float32)[rows]
        exact += _NOISE * rng.standard_normal(len(exact), np.float32)
        values = np.clip(np.rint(exact / step) * step, scale.low, scale.high)
        indptr = index_pointers(row_lengths)
        yield UserBlock(indptr, which, values.astype(np.float32), items, first=start)


def _row_lengths(
    users: int, items: int, ratings: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Log-normal lengths above the least one, summing to `ratings` exactly."""
    if min(users, items, ratings) < 1:
        raise ValueError("users, items and ratings must be at least 1")
    mean = ratings / users
    least = min(max(1, round(_LEAST * mean)), items)
    most = min(max(least, round(_MOST * items)), items)
    if not users * least <= ratings <= users * most:
        raise ValueError(
            f"{ratings} ratings do not fit {users} users with {least} to {most} of {items} items "
            "each: ask for at least one rating a user and at most 70% of all pairs"
        )
    extra = rng.lognormal(0.0, _LOG_SPREAD, users)
    extra *= (ratings - least * users) / extra.sum()
    lengths: NDArray[np.int64] = np.minimum(least + np.rint(extra).astype(np.int64), most)
    while missing := ratings - int(lengths.sum()):
        room = np.flatnonzero(lengths < most if missing > 0 else lengths > least)
        chosen = rng.choice(room, min(abs(missing), len(room)), replace=False)
        lengths[chosen] += np.sign(missing)
    return lengths


def _distinct_items(
    counts: NDArray[np.int64], popularity: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Row and item of every rating, sorted by both; items drawn by popularity without repeats."""
    items = len(popularity)
    heavy = np.flatnonzero(counts > items // 20)
    light = np.where(counts > items // 20, 0, counts)
    keys = np.concatenate(
        [*_by_race(heavy, counts, popularity, rng), *_by_redrawing(light, popularity, rng)]
    )
    keys.sort()
    rows, which = np.divmod(keys, items)
    return rows, which.astype(np.int32)


def _by_race(
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    popularity: NDArray[np.float64],
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """For long rows: every item runs at a speed of its popularity, the first arrivals are rated."""
    for row in rows:
        arrival = rng.standard_exponential(len(popularity)) / popularity
        yield row * len(popularity) + np.argpartition(arrival, counts[row] - 1)[: counts[row]]


def _by_redrawing(
    counts: NDArray[np.int64], popularity: NDArray[np.float64], rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """For short rows: draw with repeats, then again for each repeat, until there is none."""
    items = len(popularity)
    cumulative = np.cumsum(popularity / popularity.sum())
    cumulative[-1] = 1.0
    open_rows = np.flatnonzero(counts)
    keys = np.empty(0, np.int64)
    have = np.zeros(len(counts), np.int64)
    while len(open_rows):
        again = np.repeat(open_rows, (counts - have)[open_rows])
        drawn = again * items + np.searchsorted(cumulative, rng.random(len(again)), side="right")
        keys = np.concatenate([keys, drawn])
        keys.sort()  # np.unique goes by a hash table, which takes ten times as long
        keys = keys[np.diff(keys, prepend=-1) > 0]
        rows = keys // items
        have = np.bincount(rows, minlength=len(counts))
        finished = (have == counts)[rows]
        yield keys[finished]
        keys = keys[~finished]
        open_rows = open_rows[(have < counts)[open_rows]]


def _tastes(
    rows: NDArray[np.int64],
    which: NDArray[np.int32],
    taste: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """The low-rank part of each rating, standard deviation `_TASTE`."""
    rank = taste.shape[1]
    people = rng.standard_normal((int(rows[-1]) + 1, rank), np.float32)
    people *= _TASTE / np.sqrt(max(rank, 1))
    exact: NDArray[np.float32] = np.einsum("pk,pk->p", people[rows], taste[which])
    return exact
