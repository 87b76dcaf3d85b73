# SPDX-License-Identifier: Apache-2.0
"""The local half of private Frank-Wolfe: a user replays all steps from the released directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tacit import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


@dataclass(frozen=True, slots=True)
class FrankWolfeReplay:
    """Y <- Pi_L(keep Y - pull u v^T) for each released direction v, with u = P(Y - Y*) . v.

    Y starts at 0, P keeps what she rated, and Pi_L shortens Y so that P(Y) has norm at most L (001,
    Algorithm 1). Y is her factors times the directions, which are the columns of the item factors.
    Her own targets Y* count as at most L long; what they lose is given back to her factors.

    length: L.
    keep: 1 - 1/T.
    pulls: for each direction k / (T lambda).
    """

    kind: ClassVar[str] = "frank-wolfe"
    beside: ClassVar[int] = 0

    length: float
    keep: float
    pulls: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.length < math.inf:
            raise ValueError(f"length must be a positive number, got {self.length}")
        if not 0 <= self.keep <= 1:
            raise ValueError(f"keep must be in 0..1, got {self.keep}")
        if not all(0 <= pull < math.inf for pull in self.pulls):
            raise ValueError("pulls must be numbers of at least 0")

    def check(self, item_factors: NDArray[np.float32]) -> None:
        if item_factors.shape[1] != len(self.pulls):
            raise ValueError("pulls must be one for each direction")

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        return self._replayed(item_factors, rows, targets)[0]

    def residuals(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """P(Y - Y*) of each rating after all directions so far; a row is at most 2 L long."""
        return self._replayed(item_factors, rows, targets)[1]

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        along = item_factors[row.items].astype(np.float64)
        shrink = _shortening(targets.astype(np.float64), self.length)
        aims = targets * shrink
        effect = np.zeros((len(self.pulls), len(targets)))
        for t, v in enumerate(along.T):
            # All of this is linear in her shortened targets but for the last shortening.
            residual = along @ effect - np.eye(len(targets))
            effect *= self.keep
            effect[t] = -self.pulls[t] * (v @ residual)
            effect *= _shortening(along @ (effect @ aims), self.length)
        return effect

    def _replayed(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        pulls = np.array(self.pulls, np.float32)
        return kernels.replay_users(
            rows.indptr, rows.items, targets, item_factors, pulls, self.keep, self.length
        )


def _shortening(row: NDArray[np.float64], length: float) -> float:
    """min(1, length / norm)."""
    norm = float(np.linalg.norm(row))
    return length / norm if norm > length else 1.0
