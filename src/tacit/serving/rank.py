# SPDX-License-Identifier: Apache-2.0
"""The best n of many scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best(
    scores: NDArray[np.float32], n: int, *, leave_out: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Positions of the n highest scores, best first; equal scores in catalogue order."""
    open_to_all = scores.copy()
    if leave_out is not None:
        open_to_all[leave_out] = -np.inf
    n = min(n, int(np.count_nonzero(open_to_all > -np.inf)))
    if n < 1:
        return np.empty(0, np.int64)
    threshold = -np.partition(-open_to_all, n - 1)[n - 1]
    candidates = np.flatnonzero(open_to_all >= threshold)
    order = np.argsort(-open_to_all[candidates], kind="stable")
    return candidates[order[:n]]
