# SPDX-License-Identifier: Apache-2.0
"""One step of the power method on the users' second moment, without ever forming it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.bounding import levels
from tacit.contributions.base import Contribution, Part
from tacit.contributions.rows import grid_of, snap_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Grid, RowPolicy
    from tacit.data.block import UserBlock

ROW_BITS = 17


@dataclass(frozen=True, slots=True, eq=False)
class AlongDirection(Contribution):
    """What users' rows a of A have along a public direction v: s = a . v for each.

    A row holds weights times clipped targets and is cut to norm `row_bound`; s is cut to `along`
    times that, whatever v is. A row of few among many items is nowhere near as long in a direction
    that most items share, and noise is in proportion to `along`.
    """

    rows: RowPolicy
    row_bound: float
    direction: NDArray[np.float64] = field(repr=False)
    along: float = 1.0

    def __post_init__(self) -> None:
        v = self.direction
        if v.ndim != 1 or not abs(float(np.linalg.norm(v)) - 1) < 1e-6:
            # Its product would be cut, silently.
            raise ValueError("the direction must be a vector of length 1: divide it by its norm")
        if not 0 < self.along <= 1:
            raise ValueError(f"along must be above 0 and at most 1, got {self.along}")

    @property
    def grid(self) -> Grid:
        """Of a, and of s too."""
        return grid_of(self.row_bound, ROW_BITS)

    @property
    def most(self) -> int:
        """The largest s, on the grid."""
        return max(1, math.floor(self.along * self.grid.limit))

    def snapped(self, block: UserBlock) -> tuple[UserBlock, NDArray[np.int32], NDArray[np.int32]]:
        """Rows made ready, A and a column s; A and s carry a user's own level each."""
        rows = self.rows.prepared(block)
        A = self.rows.snapped(rows, self.grid, "factor")
        projected = kernels.sum_rows(A * self.direction[rows.items], rows.indptr)
        s = snap_each(projected, self.grid._replace(step=1.0))
        most = levels.scale_users(np.full(rows.n_users, self.most, np.int32), rows, "factor")
        return rows, A, np.clip(s, -most, most)[:, None]


class PowerProduct(AlongDirection):
    """A^T s: for each item the sum of s a over the users' rows. It is A^T A v where none is cut.

    Guarantee:
        One user moves "product" by at most along x row_bound^2.
        proofs/contributions/power-product.md
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        a, shape = self.grid, self.direction.shape
        return (Part("product", shape, a.limit * self.most, a.step**2),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows, A, s = self.snapped(block)
        kernels.scatter_outer(rows.indptr, rows.items, A, s, sums["product"].reshape(-1, 1))


class PowerEnergy(AlongDirection):
    """||s||^2, the eigenvalue that belongs to a direction found by `PowerProduct`.

    Guarantee:
        One user moves "energy" by at most (along x row_bound)^2.
        proofs/contributions/power-product.md
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("energy", (1,), self.most**2, self.grid.step**2, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        _, _, s = self.snapped(block)
        kernels.gram(s, np.ones(len(s), np.int32), sums["energy"])
