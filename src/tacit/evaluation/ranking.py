# SPDX-License-Identifier: Apache-2.0
"""The best items for many users at once, and their predictions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tacit.engines.local import default_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn

    Entry = TypeVar("Entry", bound=np.generic)

# Scores in flight on one thread: 4 bytes each, several copies while the best are found.
_SCORES = 1 << 21
_USERS = 1 << 12


def best_items(
    fold_in: FoldIn, history: UserBlock, k: int, *, threads: int | None = None
) -> NDArray[np.int32]:
    """For each user the k items of highest score that are not in her history, best first.

    Equal scores in catalogue order. Where fewer than k items are left, the row ends in -1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")

    def some(start: int, stop: int) -> NDArray[np.int32]:
        return _best(fold_in, history.rows(start, stop), k)

    step = max(_SCORES // max(history.n_items, 1), 1)
    return _in_threads(some, history.n_users, step, threads)


def predictions(
    fold_in: FoldIn, history: UserBlock, target: UserBlock, *, threads: int | None = None
) -> NDArray[np.float64]:
    """The rating predicted for every row of `target`, from the same users' history."""

    def some(start: int, stop: int) -> NDArray[np.float64]:
        return fold_in.predict(history.rows(start, stop), target.rows(start, stop))

    return _in_threads(some, history.n_users, _USERS, threads)


def _in_threads(
    some: Callable[[int, int], NDArray[Entry]], n_users: int, step: int, threads: int | None
) -> NDArray[Entry]:
    """What `some` returns for all users, a range of them at a time, in their order."""
    with ThreadPoolExecutor(threads or default_threads(), thread_name_prefix="tacit") as pool:
        jobs = [
            pool.submit(some, start, min(start + step, n_users))
            for start in range(0, max(n_users, 1), step)
        ]
        return np.concatenate([job.result() for job in jobs])


def _best(fold_in: FoldIn, history: UserBlock, k: int) -> NDArray[np.int32]:
    """`best_items` of few users. A user's mean moves all of her scores alike and is left out."""
    scores = fold_in.user_factors(history) @ fold_in.item_factors.T
    scores = scores + np.broadcast_to(fold_in.centring.offsets, history.n_items)
    scores[history.user_of_rating(), history.items] = -np.inf
    n_users, n_items = scores.shape
    best = np.full((n_users, k), -1, np.int32)
    if n_items == 0:
        return best
    kth = max(n_items - k, 0)
    threshold = np.partition(scores, kth, axis=1)[:, kth : kth + 1]
    users, items = np.nonzero((scores >= threshold) & (scores > -np.inf))
    order = np.lexsort((items, -scores[users, items], users))
    users, items = users[order], items[order]
    first = np.searchsorted(users, np.arange(n_users))
    place = np.arange(len(users)) - first[users]
    kept = place < k
    best[users[kept], place[kept]] = items[kept]
    return best
