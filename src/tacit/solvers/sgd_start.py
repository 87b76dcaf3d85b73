# SPDX-License-Identifier: Apache-2.0
"""The state of a descent that predicts what an earlier model does: every user folds in, raw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.descent import State
    from tacit.mechanisms.unprotected import RawRows
    from tacit.solvers.warm_start import WarmStart


def fold_into(
    state: State, start: WarmStart, rows: RawRows, row_of: NDArray[np.int64], unit: float
) -> None:
    """Factors and offsets of all users, and of the items that the start knows.

    Ratings are in steps of `unit`. Item offsets come out whole: what a descent takes for the mean
    of all ratings is still to be taken off.
    """
    fold, known = start.over(rows.n_items)
    V, rank, level = fold.item_factors, state.rank, start.level
    at = 0
    for block in rows.blocks():
        some = slice(at, at := at + block.n_users)
        found = fold.user_factors(block)
        means = fold.centring.means(block) + found[:, :level] @ V[0, :level]
        state.U[some, :rank] = found[:, level:]
        state.user_offsets[some] = means / unit
    state.item_offsets[row_of] = fold.centring.offsets / unit
    sizes = _size(state.U[:, :rank]), _size(V[known, level:]) / unit
    if min(sizes) > 0:
        # Of one size on both sides, as descent keeps them.
        balance = math.sqrt(sizes[1] / sizes[0])
        state.U[:] *= balance
        state.V[row_of[known], :rank] = V[known, level:] / (unit * balance)


def _size(factors: NDArray[Any]) -> float:
    return math.sqrt(float(np.mean(np.square(factors, dtype=np.float64))))
