# SPDX-License-Identifier: Apache-2.0
"""Regularised least squares of each user alone, given public item factors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def solve_users(  # noqa: PLR0913, PLR0917 - as the compiled kernel, whose arguments are flat
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    weights: NDArray[np.float32],
    factors: NDArray[np.float32],
    ridge: NDArray[np.float32],
    prior: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Row u minimises sum_p w_p (t_p - x . factors[items[p]])^2 + x^T (ridge[u] I + prior) x.

    t and w are targets and weights; weights are >= 0, ridge > 0; prior is a symmetric PSD
    rank x rank matrix (all zeros for none). A user without ratings gets zeros.
    """
    rank = factors.shape[1]
    solved = np.zeros((len(indptr) - 1, rank), np.float32)
    for u, (start, stop) in enumerate(pairwise(indptr.tolist())):
        if start == stop:
            continue
        rows = factors[items[start:stop]].astype(np.float64)
        weighted = rows * weights[start:stop, None]
        gram = rows.T @ weighted + prior + float(ridge[u]) * np.eye(rank)
        solved[u] = np.linalg.solve(gram, weighted.T @ targets[start:stop])
    return solved
