# SPDX-License-Identifier: Apache-2.0
"""A user's row projected on the released directions, as if what she did not rate were average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tacit import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


@dataclass(frozen=True, slots=True)
class Projection:
    """x = (m / (n + ridge)) V^T y, with y her targets and zeros, of n ratings among m items.

    Dividing by her own share of the catalogue makes up for the zeros. V has orthonormal columns.

    items: m.
    ridge: the share counts as that of so many ratings more, which shrinks x.
    """

    kind: ClassVar[str] = "projection"
    beside: ClassVar[int] = 0

    items: float
    ridge: float

    def __post_init__(self) -> None:
        if not 1 <= self.items < math.inf:
            raise ValueError(f"items must be at least 1, got {self.items}")
        if not 0 <= self.ridge < math.inf:
            raise ValueError(f"ridge must be at least 0, got {self.ridge}")

    def check(self, item_factors: NDArray[np.float32]) -> None:
        """Any item factors will do."""

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        numbers = np.diff(rows.indptr)
        scale = self.items / (np.maximum(numbers, 1) + self.ridge)
        sums = sums_along(item_factors, rows, targets)
        return (sums * scale[:, None]).astype(np.float32)

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        scale = self.items / (max(len(targets), 1) + self.ridge)
        return scale * item_factors[row.items].astype(np.float64).T


def sums_along(
    item_factors: NDArray[np.float32], rows: RatedRows, amounts: NDArray[np.floating]
) -> NDArray[np.float64]:
    """For each user the sum of amount * item factors over her ratings.

    Column by column in the order of her ratings, so that nobody depends on company.
    """
    columns = [
        kernels.sum_rows(amounts * column.astype(np.float64)[rows.items], rows.indptr)
        for column in item_factors.T
    ]
    return np.array(columns).reshape(item_factors.shape[1], len(rows.indptr) - 1).T
