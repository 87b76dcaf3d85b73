# SPDX-License-Identifier: Apache-2.0
"""From one user's ratings and the released factors to the best n items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import FoldIn


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KnownRatings:
    """One user's own ratings, as the single row of a CSR matrix."""

    items: NDArray[np.int32]
    values: NDArray[np.float32]

    @property
    def indptr(self) -> NDArray[np.int64]:
        return np.array([0, len(self.items)], np.int64)


def scores(fold_in: FoldIn, known: KnownRatings) -> NDArray[np.float64]:
    """The rating predicted for every item."""
    factor = fold_in.user_factors(known)[0]
    mean = float(fold_in.centring.means(known)[0])
    return fold_in.item_factors @ factor + fold_in.centring.offsets + mean


def best(scores: NDArray[np.float64], n: int, *, leave_out: NDArray[np.int32]) -> NDArray[np.int64]:
    """Positions of the n highest scores, best first; equal scores in catalogue order."""
    eligible = scores.copy()
    eligible[leave_out] = -np.inf
    n = min(n, int(np.count_nonzero(eligible > -np.inf)))
    if n < 1:
        return np.empty(0, np.int64)
    threshold = -np.partition(-eligible, n - 1)[n - 1]
    candidates = np.flatnonzero(eligible >= threshold)
    order = np.argsort(-eligible[candidates], kind="stable")
    return candidates[order[:n]]
