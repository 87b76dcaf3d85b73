# SPDX-License-Identifier: Apache-2.0
"""The items' second moment over users, dense: for catalogues small enough to hold its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import kernels
from tacit.contributions.base import Contribution, Part, triangle
from tacit.contributions.rows import grid_of

if TYPE_CHECKING:
    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Rows
    from tacit.data.block import UserBlock

ROW_BITS = 17


@dataclass(frozen=True, slots=True, eq=False)
class Covariance(Contribution):
    """A^T A as a packed upper triangle, items x items.

    A row of A holds a user's weights times clipped targets and is cut to norm `row_bound`.

    Guarantee:
        One user moves "covariance" by at most row_bound^2 (Frobenius).
        proofs/contributions/covariance.md
    """

    n_items: int
    rows: Rows
    row_bound: float

    @property
    def parts(self) -> tuple[Part, ...]:
        a = grid_of(self.row_bound, ROW_BITS)
        shape = (triangle(self.n_items),)
        return (Part("covariance", shape, a.limit**2, a.step**2, symmetric=True, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.rows.prepared(block)
        A = self.rows.snapped(rows, grid_of(self.row_bound, ROW_BITS), "factor")
        kernels.scatter_pairs(rows.indptr, rows.items, A, sums["covariance"])
