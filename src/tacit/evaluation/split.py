# SPDX-License-Identifier: Apache-2.0
"""Splits of ratings that are read already. By file row and by users: `tacit.data.split`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings


def leave_k_out(ratings: Ratings, k: int = 1, *, seed: int = 0) -> tuple[Ratings, Ratings]:
    """Training ratings, and k of each user's ratings chosen at random.

    A user with k ratings or fewer keeps them all for training. Both parts have all users.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    chosen = _k_of_each(ratings.block.indptr, k, np.random.default_rng(seed))
    return _part(ratings, ~chosen), _part(ratings, chosen)


def leave_part_out(
    ratings: Ratings, share: float = 0.1, *, seed: int = 0
) -> tuple[Ratings, Ratings]:
    """Training ratings, and the rest: each rating by its own coin. Both parts have all users."""
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    chosen = np.random.default_rng(seed).random(len(ratings.block.items)) < share
    return _part(ratings, ~chosen), _part(ratings, chosen)


def _k_of_each(indptr: NDArray[np.int64], k: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Marks k random entries of each row that has more than k."""
    counts = np.diff(indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((rng.random(len(rows)), rows))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - indptr[rows]
    marked: NDArray[np.bool_] = (place < k) & (counts > k)[rows]
    return marked


def _part(ratings: Ratings, kept: NDArray[np.bool_]) -> Ratings:
    return replace(ratings, rows=ratings.block.keep(kept))
