# SPDX-License-Identifier: Apache-2.0
"""A user's row of what she has seen, with zeros for the rest, projected on the item factors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import csr_array

from tacit import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


@dataclass(frozen=True, slots=True)
class SeenProjection:
    """x = sum over what she has seen of a_j (w_j V_j), with a_j = c_j w_j and her c_j in each.

    w_j, the item's weight, is the last column of the item factors, V_j all others; x has 0 there.
    c_j = min(1 + count_weight t, most) for a target t above 0, and 0 otherwise.

    count_weight: 0 makes all that she has seen count alike, however often.
    most: at least 1.
    """

    kind: ClassVar[str] = "seen-projection"
    beside: ClassVar[int] = 1

    count_weight: float = 0.0
    most: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.count_weight < math.inf:
            raise ValueError(f"count_weight must be at least 0, got {self.count_weight}")
        if not 1 <= self.most < math.inf:
            raise ValueError(f"most must be at least 1, got {self.most}")

    def check(self, item_factors: NDArray[np.float32]) -> None:
        if item_factors.shape[1] < 1 or np.any(item_factors[:, -1] < 0):
            raise ValueError("the last column of item_factors must be the items' weights")

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        amounts = self.amounts(item_factors, rows, targets) * self._weights(item_factors, rows)
        n_users, (n_items, rank) = len(rows.indptr) - 1, item_factors.shape
        x = np.zeros((n_users, rank), np.float32)
        # A sparse product adds up each row by itself, in its order: nobody depends on company.
        own = csr_array((amounts, rows.items, rows.indptr), shape=(n_users, n_items))
        x[:, :-1] = own @ item_factors[:, :-1].astype(np.float64)
        return x

    def amounts(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """a_j of each rating."""
        return self._confidence(targets) * self._weights(item_factors, rows)

    def lengths(self, rows: RatedRows, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The norm of each user's row of amounts; 1 for a row of zeros."""
        norms = np.sqrt(kernels.sum_rows(amounts * amounts, rows.indptr))
        return np.where(norms > 0, norms, 1.0)

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        weights = self._weights(item_factors, row)
        there = np.where(targets > 0, targets, 1.0)
        effect = item_factors[row.items].astype(np.float64).T
        effect *= self._confidence(targets) / there * weights * weights
        effect[-1] = 0.0
        return effect

    def _confidence(self, targets: NDArray[np.float32]) -> NDArray[np.float64]:
        more = np.minimum(1 + self.count_weight * targets.astype(np.float64), self.most)
        return np.where(targets > 0, more, 0.0)

    @staticmethod
    def _weights(item_factors: NDArray[np.float32], rows: RatedRows) -> NDArray[np.float64]:
        return item_factors[:, -1].astype(np.float64)[rows.items]
