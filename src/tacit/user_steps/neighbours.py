# SPDX-License-Identifier: Apache-2.0
"""A user's own ratings of the neighbours of an item predict her rating of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


@dataclass(frozen=True, slots=True)
class Neighbours:
    """x has m numbers: (m / (n + ridge)) times her targets at the n items she rated, else zeros.

    Row j of the item factors has item j's weight of every neighbour. Dividing by her own share of
    the catalogue makes up for neighbours that she did not rate.

    items: m.
    ridge: the share counts as that of so many ratings more, which shrinks x.
    """

    kind: ClassVar[str] = "neighbours"
    beside: ClassVar[int] = 0

    items: float
    ridge: float

    def __post_init__(self) -> None:
        if not 1 <= self.items < math.inf:
            raise ValueError(f"items must be at least 1, got {self.items}")
        if not 0 <= self.ridge < math.inf:
            raise ValueError(f"ridge must be at least 0, got {self.ridge}")

    def check(self, item_factors: NDArray[np.float32]) -> None:
        if item_factors.shape[1] != self.items:
            raise ValueError("item_factors must have a weight for every item")

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        numbers = np.diff(rows.indptr)
        x = np.zeros((len(numbers), item_factors.shape[1]), np.float32)
        scale = np.repeat(self.items / (np.maximum(numbers, 1) + self.ridge), numbers)
        x[np.repeat(np.arange(len(numbers)), numbers), rows.items] = targets * scale
        return x

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        effect = np.zeros((item_factors.shape[1], len(targets)))
        effect[row.items, np.arange(len(targets))] = self.items / (
            max(len(targets), 1) + self.ridge
        )
        return effect
