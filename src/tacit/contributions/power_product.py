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
class PowerProduct(Contribution):
    """A^T (A v): for each item the sum of a (a . v) over the users' rows a of A.

    A row holds weights times clipped targets and is cut to norm `row_bound`. The direction is
    public and of length 1; a . v is cut to `along` times the row bound, so that the bound holds
    for any v. A row of few among many items is nowhere near as long in any direction that most
    items share, and noise is in proportion to `along`.

    Guarantee:
        One user moves "product" by at most along x row_bound^2.
        proofs/contributions/power-product.md
    """

    rows: RowPolicy
    row_bound: float
    direction: NDArray[np.float64] = field(repr=False)
    along: float = 1.0

    def __post_init__(self) -> None:
        check_direction(self.direction, self.along)

    @property
    def parts(self) -> tuple[Part, ...]:
        a = grid_of(self.row_bound, ROW_BITS)
        most = most_along(a, self.along)
        return (Part("product", self.direction.shape, a.limit * most, a.step**2),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.rows.prepared(block)
        bound = grid_of(self.row_bound, ROW_BITS)
        A = self.rows.snapped(rows, bound, "factor")
        s = lengths(rows, A, self.direction, bound._replace(limit=most_along(bound, self.along)))
        kernels.scatter_outer(rows.indptr, rows.items, A, s, sums["product"].reshape(-1, 1))


@dataclass(frozen=True, slots=True, eq=False)
class PowerEnergy(Contribution):
    """||A v||^2, the eigenvalue that belongs to a direction found by `PowerProduct`.

    Guarantee:
        One user moves "energy" by at most (along x row_bound)^2.
        proofs/contributions/power-product.md
    """

    rows: RowPolicy
    row_bound: float
    direction: NDArray[np.float64] = field(repr=False)
    along: float = 1.0

    def __post_init__(self) -> None:
        check_direction(self.direction, self.along)

    @property
    def parts(self) -> tuple[Part, ...]:
        a = grid_of(self.row_bound, ROW_BITS)
        most = most_along(a, self.along)
        return (Part("energy", (1,), most**2, a.step**2, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.rows.prepared(block)
        bound = grid_of(self.row_bound, ROW_BITS)
        A = self.rows.snapped(rows, bound, "factor")
        s = lengths(rows, A, self.direction, bound._replace(limit=most_along(bound, self.along)))
        kernels.gram(s, np.ones(len(s), np.int32), sums["energy"])


def check_direction(v: NDArray[np.float64], along: float) -> None:
    """Refuse a direction whose length is not 1: its product would be cut, silently."""
    if v.ndim != 1 or not abs(float(np.linalg.norm(v)) - 1) < 1e-6:
        raise ValueError("the direction must be a vector of length 1: divide it by its norm")
    if not 0 < along <= 1:
        raise ValueError(f"along must be above 0 and at most 1, got {along}")


def most_along(grid: Grid, share: float) -> int:
    """The most that a . v may be, on the grid of a."""
    return max(1, math.floor(share * grid.limit))


def lengths(
    rows: UserBlock, A: NDArray[np.int32], v: NDArray[np.float64], bound: Grid
) -> NDArray[np.int32]:
    """The product a . v of each user on the grid of A itself, one column; both carry her level."""
    projected = kernels.sum_rows(A * v[rows.items], rows.indptr)
    snapped = snap_each(projected, bound._replace(step=1.0))
    most = levels.scale_users(np.full(rows.n_users, bound.limit, np.int32), rows, "factor")
    return np.clip(snapped, -most, most)[:, None]
