# SPDX-License-Identifier: Apache-2.0
"""Ratings with the shape of MovieLens 10M and others: heavy-tailed users and items, low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.catalogue import Scale
from tacit.datasets.experiment import assemble, index_pointers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings

_MOST = 0.7  # of the catalogue: the longest row of MovieLens 10M
# Standard deviations in stars; together about 1.06, as there.
_MEAN, _USER, _ITEM, _TASTE, _NOISE = 3.5, 0.4, 0.45, 0.45, 0.75


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows log-normal above a least length, a share of the mean; popularity by Zipf-Mandelbrot.

    rank_offset, power: popularity is (rank + offset)^-power; the offset keeps the most rated item
        from being everybody's.
    """

    least: float
    log_spread: float
    rank_offset: float
    power: float = 1.0


# MovieLens 10M has a mean of 114.5 ratings a user, at least 20, median 72; the Netflix prize has
# 209.3, at least 1, median 96. Of Yahoo! Music the mean is known, 262.6, and the least, 20.
_MOVIELENS = Shape(20 / 114.5, 1.09, 30)
_NETFLIX = Shape(1 / 209.3, 1.25, 60, power=1.3)
_YAHOO = Shape(20 / 262.6, 1.25, 30)
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
    return _movielens((users, items, ratings), rank, half_stars=half_stars).filled(seed)


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
    return _movielens((users, items, ratings), rank, half_stars=half_stars).blocks(seed)


def netflix_like(share: float = 1.0, rank: int = 16, *, seed: int = 0) -> Ratings:
    """The shape of the Netflix prize (480,189 x 17,770, 100,480,507 ratings of 1 to 5 stars).

    As `movielens_like`, with its own lengths of rows. `share` is how many of the users, with their
    rows, there are; the catalogue is whole. The 500 most popular movies have about 44% of the
    ratings, as there.
    """
    sizes = round(480_189 * share), 17_770, round(100_480_507 * share)
    return _netflix(sizes, rank).filled(seed)


def netflix_blocks(
    users: int = 480_189,
    items: int = 17_770,
    ratings: int = 100_480_507,
    rank: int = 16,
    *,
    seed: int = 0,
) -> Iterator[UserBlock]:
    """Users with rows as `netflix_like` has, some thousands at a time, as `movielens_blocks`."""
    return _netflix((users, items, ratings), rank).blocks(seed)


def yahoo_like(
    share: float = 1.0, item_share: float = 1.0, rank: int = 16, *, seed: int = 0
) -> Ratings:
    """The size of Yahoo! Music (1,000,990 x 624,961, 262,810,175 ratings from 0 to 5).

    As `netflix_like`. Its scores from 0 to 100 are brought to 0 to 5, in steps of 0.05, as paper
    004 does. Of its rows only mean and least length are known here; popularity is as MovieLens has.
    """
    sizes = round(1_000_990 * share), round(624_961 * item_share), round(262_810_175 * share)
    return _Made(sizes, rank, _YAHOO, Scale(0.0, 5.0), step=0.05).filled(seed)


@dataclass(frozen=True, slots=True)
class _Made:
    """What is to be made up: users, items and ratings, the latter on a grid of a scale."""

    sizes: tuple[int, int, int]
    rank: int
    shape: Shape
    scale: Scale
    step: float

    def filled(self, seed: int) -> Ratings:
        """All of it in memory."""
        which = np.empty(max(self.sizes[2], 0), np.int32)
        values = np.empty(max(self.sizes[2], 0), np.float32)
        lengths, done = [], 0
        for block in self.blocks(seed):
            here = slice(done, done + len(block.items))
            which[here], values[here] = block.items, block.values
            lengths.append(np.diff(block.indptr))
            done = here.stop
        indptr = index_pointers(np.concatenate(lengths))
        return assemble(UserBlock(indptr, which, values, self.sizes[1]), self.scale)

    def blocks(self, seed: int) -> Iterator[UserBlock]:
        """Some thousands of users at a time."""
        rng = np.random.default_rng(seed)
        users, items, _ = self.sizes
        counts = _row_lengths(self.sizes, self.shape, rng)
        places = np.asarray(self.shape.rank_offset + 1.0 + rng.permutation(items), np.float64)
        popularity = np.asarray(places**-self.shape.power, np.float64)
        offsets = rng.normal(0, _ITEM, items).astype(np.float32)
        taste = rng.standard_normal((items, self.rank), np.float32)
        low, high, step = self.scale.low, self.scale.high, np.float32(self.step)
        for start in range(0, users, _CHUNK):
            lengths = counts[start : start + _CHUNK]
            rows, which = _distinct_items(lengths, popularity, rng)
            exact = _tastes(rows, which, taste, rng) + offsets[which]
            exact += rng.normal(_MEAN, _USER, len(lengths)).astype(np.float32)[rows]
            exact += _NOISE * rng.standard_normal(len(exact), np.float32)
            # Adding 0 turns a minus zero into a zero.
            values = np.clip(np.rint(exact / step) * step, low, high).astype(np.float32) + 0
            yield UserBlock(index_pointers(lengths), which, values, items, first=start)


def _netflix(sizes: tuple[int, int, int], rank: int) -> _Made:
    return _Made(sizes, rank, _NETFLIX, Scale(1.0, 5.0), step=1.0)


def _movielens(sizes: tuple[int, int, int], rank: int, *, half_stars: bool) -> _Made:
    scale, step = (Scale(0.5, 5.0), 0.5) if half_stars else (Scale(1.0, 5.0), 1.0)
    return _Made(sizes, rank, _MOVIELENS, scale, step)


def _row_lengths(
    sizes: tuple[int, int, int], shape: Shape, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Log-normal lengths above the least one, summing to `ratings` exactly."""
    users, items, ratings = sizes
    if min(users, items, ratings) < 1:
        raise ValueError("users, items and ratings must be at least 1")
    mean = ratings / users
    least = min(max(1, round(shape.least * mean)), items)
    most = min(max(least, round(_MOST * items)), items)
    if not users * least <= ratings <= users * most:
        raise ValueError(
            f"{ratings} ratings do not fit {users} users with {least} to {most} of {items} items "
            "each: ask for at least one rating a user and at most 70% of all pairs"
        )
    extra = rng.lognormal(0.0, shape.log_spread, users)
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
