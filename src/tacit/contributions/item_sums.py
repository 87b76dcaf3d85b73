# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of targets and of weights for each item: what item means are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import kernels
from tacit.contributions.base import Contribution, Part
from tacit.contributions.rows import grid_of

if TYPE_CHECKING:
    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Rows
    from tacit.data.block import UserBlock

ROW_BITS = 20


@dataclass(frozen=True, slots=True, eq=False)
class ItemSums(Contribution):
    """For each item the sum over its ratings of weight * target.

    A user's whole row of them is cut to norm `row_bound`. With normalised weights that norm is the
    root mean square of her targets, which varies little between users: a bound near its usual size
    costs a fraction of what the largest single target would.

    Guarantee:
        One user moves "sum" by at most row_bound. proofs/contributions/item-sums.md
    """

    n_items: int
    rows: Rows
    row_bound: float

    @property
    def parts(self) -> tuple[Part, ...]:
        grid = grid_of(self.row_bound, ROW_BITS)
        return (Part("sum", (self.n_items,), grid.limit, grid.step),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.rows.prepared(block)
        amounts = self.rows.snapped(rows, grid_of(self.row_bound, ROW_BITS))
        kernels.scatter_sum(rows.items, amounts, sums["sum"])


@dataclass(frozen=True, slots=True, eq=False)
class ItemCounts(Contribution):
    """For each item the sum of the weights of its ratings.

    Guarantee:
        One user moves "count" by at most ||w||, which is 1 for normalised weights and sqrt(k) for
        weights of 1 with an item limit k. Weights are never negative, so shares form a cone.
        proofs/contributions/item-sums.md
    """

    n_items: int
    rows: Rows

    @property
    def parts(self) -> tuple[Part, ...]:
        grid = self.rows.weight_grid(ROW_BITS)
        return (Part("count", (self.n_items,), grid.limit, grid.step, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.rows.prepared(block)
        weights = self.rows.snapped_weights(rows, ROW_BITS)
        kernels.scatter_sum(rows.items, weights, sums["count"])
