# SPDX-License-Identifier: Apache-2.0
"""One step of gradient descent of each user alone, given public item factors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def descend_users(  # noqa: PLR0913, PLR0917 - as the compiled kernel, whose arguments are flat
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    factors: NDArray[np.float32],
    start: NDArray[np.float32],
    turn: NDArray[np.float32],
    rates: NDArray[np.float32],
    ridge: float,
) -> NDArray[np.float32]:
    """Row u is x turn + rates[u] (sum_p (t_p - x . v_p) v_p - ridge x).

    x is row u of `start`, t the targets, v_p = factors[items[p]], over the ratings p of user u.
    """
    moved = np.empty_like(start)
    for u, (first, last) in enumerate(pairwise(indptr.tolist())):
        x = start[u].astype(np.float64)
        v = factors[items[first:last]].astype(np.float64)
        pull = (targets[first:last] - v @ x) @ v - ridge * x
        moved[u] = x @ turn + rates[u] * pull
    return moved
