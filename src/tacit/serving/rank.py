# SPDX-License-Identifier: Apache-2.0
"""From users' ratings and the released factors to the best n items of each."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np

from tacit import kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.folding import FoldIn, RatedRows
    from tacit.serving.known import Known

Seen = Literal["leave out", "keep"]
_Result = TypeVar("_Result")

# Users for one thread at a time; what a user gets does not depend on it.
CHUNK = 512


class Folded(NamedTuple):
    """What users found for themselves: one row and one mean each."""

    factors: NDArray[np.float32]
    means: NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ranker:
    """Items packed for ranking: the whole catalogue, or some positions in it (ascending)."""

    packed: NDArray[np.float32]
    n_items: int
    positions: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, fold_in: FoldIn, positions: NDArray[np.int32] | None = None) -> Ranker:
        """Items with their offsets; `positions` are the only ones that may be chosen."""
        V = fold_in.item_factors
        b = np.broadcast_to(fold_in.centring.offsets, len(V)).astype(np.float32)
        if positions is None:
            return cls(kernels.pack_items(np.ascontiguousarray(V), b), len(V))
        positions = np.unique(positions)
        return cls(kernels.pack_items(V[positions], b[positions]), len(positions), positions)

    def best(
        self, factors: NDArray[np.float32], n: int, leave_out: RatedRows | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """For each user the n items of highest offset + product and these scores, best first.

        Equal scores come in the order of the catalogue. -1 and minus infinity fill up the row of
        a user to whom fewer than n items are left. What a user gets does not depend on the others.
        """
        n = min(n, self.n_items)
        if n == 0:
            return np.empty((len(factors), 0), np.int32), np.empty((len(factors), 0), np.float32)
        indptr, excluded = self._excluded(len(factors), leave_out)
        chosen, scores = kernels.rank_users(factors, self.packed, self.n_items, n, indptr, excluded)
        if self.positions is not None:
            chosen = np.where(chosen < 0, chosen, self.positions[chosen])
        return chosen, scores

    def _excluded(
        self, n_users: int, rows: RatedRows | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The rows' items as numbers of packed items."""
        if rows is None:
            return np.zeros(n_users + 1, np.int64), np.empty(0, np.int32)
        if self.positions is None:
            return rows.indptr, rows.items
        place = np.searchsorted(self.positions, rows.items)
        place[place == self.n_items] = 0
        hit = self.positions[place] == rows.items
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(hit, dtype=np.int64)])
        return before[rows.indptr], place[hit].astype(np.int32)


def fold(fold_in: FoldIn, known: Known) -> Folded:
    """Each user's factors and mean, as training computes them bit by bit."""
    parts = _each(known, lambda rows: Folded(fold_in.user_factors(rows), _means(fold_in, rows)))
    return Folded(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def rank(
    fold_in: FoldIn, ranker: Ranker, known: Known, n: int, seen: Seen
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Folds each user in and ranks: `Ranker.best` with predicted ratings as scores."""

    def one(rows: Known) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        leave_out = rows if seen == "leave out" else None
        chosen, scores = ranker.best(fold_in.user_factors(rows), n, leave_out)
        return chosen, scores + _means(fold_in, rows)[:, None]

    chosen, scores = zip(*_each(known, one), strict=True)
    return np.concatenate(chosen), np.concatenate(scores)


def _means(fold_in: FoldIn, rows: Known) -> NDArray[np.float64]:
    return fold_in.centring.means(rows)


def _each(known: Known, work: Callable[[Known], _Result]) -> list[_Result]:
    """Work done on chunks of users by as many threads as this process may use."""
    starts = range(0, max(known.n_users, 1), CHUNK)
    chunks = (known.rows(start, min(start + CHUNK, known.n_users)) for start in starts)
    if len(starts) == 1:
        return [work(chunk) for chunk in chunks]
    with ThreadPoolExecutor(_threads()) as pool:
        return list(pool.map(work, chunks))


def _threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
