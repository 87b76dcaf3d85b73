# SPDX-License-Identifier: Apache-2.0
"""The best items for many users at once, and their predictions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from tacit.engines.local import default_threads
from tacit.serving.known import Known
from tacit.serving.rank import Ranker, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn

_USERS = 1 << 12


def best_items(fold_in: FoldIn, history: UserBlock, k: int) -> NDArray[np.int32]:
    """For each user the k items of highest score that are not in her history, best first.

    As serving ranks them. Where fewer than k items are left, the row ends in -1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    best = np.full((history.n_users, k), -1, np.int32)
    if history.n_users:
        known = Known(history.indptr, history.items, history.values)
        found = rank(fold_in, Ranker.of(fold_in), known, k, "leave out")[0]
        best[:, : found.shape[1]] = found
    return best


def predictions(fold_in: FoldIn, history: UserBlock, target: UserBlock) -> NDArray[np.float64]:
    """The rating predicted for every row of `target`, from the same users' history."""

    def some(start: int) -> NDArray[np.float64]:
        stop = min(start + _USERS, history.n_users)
        return fold_in.predict(history.rows(start, stop), target.rows(start, stop))

    with ThreadPoolExecutor(default_threads(), thread_name_prefix="tacit") as pool:
        return np.concatenate(list(pool.map(some, range(0, max(history.n_users, 1), _USERS))))
