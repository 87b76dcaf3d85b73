# SPDX-License-Identifier: Apache-2.0
"""What the papers do with ratings before they train, and how they judge.

Ratings are `tacit.data.ratings.Ratings` in memory. Splits are by public seeds. What is not private
in a protocol is said at its function: it is public by assumption in every figure that follows it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import tacit
from tacit.accounting import gdp
from tacit.bounding import item_limit
from tacit.data.catalogue import Catalogue, Scale
from tacit.data.split import HeldOutUsers, held_out_users, rows_of
from tacit.evaluation.metrics import rating_figures
from tacit.evaluation.ranking import predictions
from tacit.evaluation.split import leave_part_out
from tacit.evaluation.trials import positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
COUNTS_SHARE = 0.05  # of mu^2, where the most rated items are chosen by noisy counts


def find(name: str) -> Path | None:
    """A copy of a public set: where TACIT_DATA points, or beside the repository."""
    return tacit.datasets.find(name) or (
        tacit.datasets.find(name, SHARED / name) if "TACIT_DATA" not in os.environ else None
    )


def by_rating(ratings: Ratings, test: float, seed: int) -> tuple[Ratings, Ratings, Ratings]:
    """Training, validation and test part, the latter two of share `test`; each rating by a coin.

    003, D.1: 80-10-10 for MovieLens 10M, 98-1-1 for its 400 most rated items.
    """
    train, others = leave_part_out(ratings, 2 * test, seed=seed)
    return train, *leave_part_out(others, 0.5, seed=seed + 1)


def most_rated(ratings: Ratings, items: int = 400) -> NDArray[np.int64]:
    """Numbers of the items rated most, as 001 and 003 choose them: by exact counts, NOT PRIVATE."""
    counts = np.bincount(ratings.block.items, minlength=ratings.n_items)
    return np.sort(np.argsort(-counts, kind="stable")[:items])


def most_rated_by_noisy_counts(
    ratings: Ratings, items: int, epsilon: float, delta: float
) -> tuple[NDArray[np.int64], float]:
    """The same from released counts, and the epsilon that is left for training."""
    mu = gdp.mu(epsilon, delta)
    spent, left = (
        gdp.epsilon(delta, mu * share**0.5) for share in (COUNTS_SHARE, 1 - COUNTS_SHARE)
    )
    model = tacit.fit(ratings, tacit.solvers.Popularity(), epsilon=spent, delta=delta).model
    counts = model.folding.centring.offsets
    return np.sort(np.argsort(-counts, kind="stable")[:items]), left


def only(ratings: Ratings, items: NDArray[np.int64]) -> Ratings:
    """The ratings of these items, which become the catalogue; users without any stay."""
    number = np.full(ratings.n_items, -1, np.int32)
    number[items] = np.arange(len(items), dtype=np.int32)
    block = ratings.block.keep(number[ratings.block.items] >= 0)
    block = replace(block, items=number[block.items], n_items=len(items))
    return replace(ratings, rows=block, catalogue=Catalogue(ratings.catalogue.ids[items], "file"))


def at_most(ratings: Ratings, most: int, seed: int) -> Ratings:
    """001: at most so many ratings of each user, chosen at random. Local to her."""
    return replace(ratings, rows=item_limit.uniform(ratings.block, most, seed=seed))


def rescaled(ratings: Ratings, low: float, high: float) -> Ratings:
    """001, 004: Jester and Yahoo! Music from 0 to 5."""
    old = ratings.scale
    values = (ratings.block.values - old.low) / (old.high - old.low) * (high - low) + low
    block = ratings.block.with_values(values.astype(np.float32))
    return replace(ratings, rows=block, scale=Scale(low, high))


def liked(ratings: Ratings, least: float = 4.0, most_strangers: int = 5) -> Ratings:
    """003's MovieLens 20M, as in Liang and others (2018): ratings of 4 and more count 1.

    Users with fewer than five of them are left out. She can tell by herself; that she was left out
    shows in the number of users only, which is public by assumption.
    """
    block = ratings.block.keep(ratings.block.values >= least)
    kept = np.flatnonzero(np.diff(block.indptr) >= most_strangers)
    block = rows_of(block, kept)
    block = block.with_values(np.ones(len(block.items), np.float32))
    return replace(ratings, rows=block, ids=ratings.user_ids[kept], scale=Scale(0.0, 1.0))


def strangers(ratings: Ratings, users: int, seed: int) -> HeldOutUsers:
    """003, D.1: so many users are left out of training, half of them for the test.

    Of each, 80% of the items are known and the rest is wanted.
    """
    held = held_out_users(ratings, users, history=0.8, seed=seed)
    half = np.sort(np.random.default_rng(seed).permutation(users)[: users // 2])

    def some(part: Ratings) -> Ratings:
        return replace(part, rows=rows_of(part.block, half), ids=part.user_ids[half])

    return replace(held, history=some(held.history), target=some(held.target))


def netflix(folder: Path) -> tuple[Ratings, Ratings]:
    """004, 6.2: the prize's training set without its probe, and the probe, 1.4 million ratings.

    The publisher chose the probe's pairs: late ratings of each customer, NOT PRIVATE.
    """
    whole = tacit.datasets.load("netflix", folder)
    lines = (folder / "probe.txt").read_text(encoding="ascii").split()
    headers = np.array([line.endswith(":") for line in lines])
    numbers = np.array([line.rstrip(":") for line in lines], np.int64)
    movie = numbers[headers][np.cumsum(headers) - 1][~headers]
    pairs = positions(numbers[~headers], whole.user_ids) * whole.n_items + positions(
        movie, whole.catalogue.ids
    )
    block = whole.block
    held = np.isin(block.user_of_rating() * np.int64(whole.n_items) + block.items, pairs)
    train, asked = (replace(whole, rows=block.keep(part)) for part in (~held, held))
    return train, asked


def yahoo_music(folder: Path) -> tuple[Ratings, Ratings]:
    """004, 6.2: the KDD Cup's training and validation ratings (track 1), from 0 to 5."""
    train = tacit.datasets.load("yahoo-music", folder)
    asked = tacit.datasets.load(
        "yahoo-music", folder, part="validation", items=train.catalogue.ids.tolist(),
        unknown_items="drop",
    )  # fmt: skip
    return rescaled(train, 0, 5), rescaled(asked, 0, 5)


def rmse(fold: FoldIn, asked: Trial) -> float:
    """Predictions are cut to the scale."""
    found = np.clip(predictions(fold, asked.history, asked.target), *asked.scale)
    return rating_figures(found - asked.target.values)["rmse"]
