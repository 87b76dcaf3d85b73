# SPDX-License-Identifier: Apache-2.0
"""Private Frank-Wolfe as one user replays it from the released directions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def replay_users(  # noqa: PLR0913, PLR0917 - as the compiled kernel, whose arguments are flat
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    directions: NDArray[np.float32],
    pulls: NDArray[np.float32],
    keep: float,
    length: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Each user's factors along the directions (items x steps), and her residual of every rating.

    Her targets are first shortened to norm `length`. From y = 0 each step t then does

        u <- pulls[t] (y - targets) . v,   y <- keep y - u v,   y <- y min(1, length / norm of y)

    with v the entries of direction t at her items. y is always the factors times her entries of the
    directions. The residuals are y - targets; the factors are given back the length that her
    targets lost, so that they predict her ratings and not the shortened ones.
    """
    steps = directions.shape[1]
    factors = np.zeros((len(indptr) - 1, steps), np.float32)
    residuals = np.zeros(len(items), np.float32)
    for user, (start, stop) in enumerate(pairwise(indptr.tolist())):
        along = directions[items[start:stop]].astype(np.float64)
        shrink = _shortening(targets[start:stop].astype(np.float64), length)
        aims = targets[start:stop] * shrink
        x, y = np.zeros(steps), np.zeros(stop - start)
        for t, v in enumerate(along.T):
            u = float(pulls[t]) * float((y - aims) @ v)
            y = keep * y - u * v
            x *= keep
            x[t] = -u
            cut = _shortening(y, length)
            x, y = x * cut, y * cut
        factors[user] = x / shrink
        residuals[start:stop] = y - aims
    return factors, residuals


def _shortening(row: NDArray[np.float64], length: float) -> float:
    """min(1, length / norm)."""
    norm = float(np.linalg.norm(row))
    return length / norm if norm > length else 1.0
