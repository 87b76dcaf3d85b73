# SPDX-License-Identifier: Apache-2.0
"""The local half of private projected gradient descent, replayed from the released subspaces."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from tacit import kernels
from tacit.folding import inner_products
from tacit.user_steps.projection import sums_along

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


class Descended(NamedTuple):
    """Users after a gradient step: z = cut (V x - rate a), with a at the items they rated."""

    x: NDArray[np.float64]
    a: NDArray[np.float64]
    cut: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Descended(<private rows>)"


@dataclass(frozen=True, slots=True)
class GradientReplay:
    """z <- Pi_L(Y - rate P(Y - Y*)), then Y <- (z V) diag(kept) V^T, for each released subspace V.

    Y starts at 0, P keeps what she rated, and Pi_L shortens a whole row to norm L. The item factors
    are the subspaces side by side, `rank` orthonormal columns each; her factors are those along the
    last of them, and zeros before.

    rate: of the gradient step.
    length: L.
    rank: columns of one subspace.
    kept: for each subspace, how much is kept of each of its directions.
    turns: for each subspace but the first, (the one before)^T (it), row by row.
    """

    kind: ClassVar[str] = "projected-gradient"
    beside: ClassVar[int] = 0

    rate: float
    length: float
    rank: float
    kept: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    turns: tuple[tuple[tuple[float, ...], ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("rate", "length", "rank"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        if len(self.turns) != max(len(self.kept) - 1, 0):
            raise ValueError("turns must be one fewer than kept")

    def check(self, item_factors: NDArray[np.float32]) -> None:
        r = int(self.rank)
        if item_factors.shape[1] != r * len(self.kept) or any(len(d) != r for d in self.kept):
            raise ValueError("item_factors must have rank columns for each subspace")
        if any(np.shape(turn) != (r, r) for turn in self.turns):
            raise ValueError("turns must be rank x rank")

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        found = np.zeros((len(rows.indptr) - 1, item_factors.shape[1]), np.float32)
        if self.kept:
            last = self.replayed(item_factors, rows, targets)
            found[:, -int(self.rank) :] = self._projected(item_factors, rows, last, -1)
        return found

    def replayed(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32],
        steps: int | None = None,
    ) -> Descended:  # fmt: skip
        """Users after the gradient step after so many subspaces; all but the last if None."""
        steps = len(self.kept) - 1 if steps is None else steps
        users = len(rows.indptr) - 1
        now = self._descended(np.zeros((users, int(self.rank))), -targets.astype(np.float64), rows)
        for t in range(steps):
            x = self._projected(item_factors, rows, now, t)
            y = inner_products(rows, x.astype(np.float32), self._subspace(item_factors, t))
            a = y.astype(np.float64) - targets
            now = self._descended(x, a, rows, sums_along(self._subspace(item_factors, t), rows, a))
        return now

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        r, n = int(self.rank), len(targets)
        effect, before = np.zeros((r, n)), np.zeros((n, r))
        for t in range(len(self.kept)):
            V = self._subspace(item_factors, t)[row.items].astype(np.float64)
            cut = self.replayed(item_factors, row, targets, t).cut[0]
            a = before @ effect - np.eye(n)
            moved = effect if t == 0 else np.array(self.turns[t - 1]).T @ effect
            effect = cut * np.array(self.kept[t])[:, None] * (moved - self.rate * V.T @ a)
            before = V
        whole = np.zeros((item_factors.shape[1], n))
        whole[-r:] = effect
        return whole

    def _subspace(self, item_factors: NDArray[np.float32], t: int) -> NDArray[np.float32]:
        r = int(self.rank)
        t %= len(self.kept)
        return np.ascontiguousarray(item_factors[:, t * r : (t + 1) * r])

    def _descended(
        self,
        x: NDArray[np.float64],
        a: NDArray[np.float64],
        rows: RatedRows,
        along: NDArray[np.float64] | float = 0.0,
    ) -> Descended:
        """With along = V^T a: ||z||^2 = ||x||^2 - 2 rate x . along + rate^2 ||a||^2."""
        squared = kernels.sum_rows(a * a, rows.indptr)
        norm2 = np.sum(x * x - 2 * self.rate * x * along, axis=1) + self.rate**2 * squared
        norm = np.sqrt(np.maximum(norm2, 0.0))
        return Descended(x, a, self.length / np.maximum(norm, self.length))

    def _projected(
        self, item_factors: NDArray[np.float32], rows: RatedRows, now: Descended, t: int
    ) -> NDArray[np.float64]:
        """Kept (V^T z), along subspace t."""
        t %= len(self.kept)
        moved = -self.rate * sums_along(self._subspace(item_factors, t), rows, now.a)
        if t:
            # Not by BLAS, whose last bits may depend on the other users of the call.
            turn = np.array(self.turns[t - 1])
            moved += np.sum(now.x[:, :, None] * turn[None], axis=1)
        moved *= now.cut[:, None] * np.array(self.kept[t])
        return moved
