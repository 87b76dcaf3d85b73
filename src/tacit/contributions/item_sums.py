# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of targets and of weights for each item: what item means are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import kernels
from tacit.contributions.base import Contribution, Part

if TYPE_CHECKING:
    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Rows
    from tacit.data.block import UserBlock

# Together at most 30 bits, so that one amount fits int32. A target is off by at most clip / 2^15.
WEIGHT_BITS = 16
TARGET_BITS = 14


@dataclass(frozen=True, slots=True, eq=False)
class ItemSums(Contribution):
    """For each item the sum over its ratings of weight * target.

    Guarantee:
        One user moves "sum" by at most ||w|| clip, where ||w|| is 1 for normalised weights and
        sqrt(k) for weights of 1 with an item limit k. proofs/contributions/item-sums.md
    """

    n_items: int
    rows: Rows

    @property
    def parts(self) -> tuple[Part, ...]:
        return (sum_part(self.n_items, self.rows),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        ready = self.rows.ready(block, WEIGHT_BITS, TARGET_BITS)
        kernels.scatter_sum(ready.items, ready.amounts, sums["sum"])


@dataclass(frozen=True, slots=True, eq=False)
class ItemCounts(Contribution):
    """For each item the sum of the weights of its ratings.

    Guarantee:
        One user moves "count" by at most ||w||, as in `ItemSums`.
        proofs/contributions/item-sums.md
    """

    n_items: int
    rows: Rows

    @property
    def parts(self) -> tuple[Part, ...]:
        return (count_part(self.n_items, self.rows),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        ready = self.rows.ready(block, WEIGHT_BITS, TARGET_BITS)
        kernels.scatter_sum(ready.items, ready.weights, sums["count"])


@dataclass(frozen=True, slots=True, eq=False)
class ItemMeans(Contribution):
    """`ItemSums` and `ItemCounts` in one pass, of the same integer weights.

    Guarantee:
        That of the two. proofs/contributions/item-sums.md
    """

    n_items: int
    rows: Rows

    @property
    def parts(self) -> tuple[Part, ...]:
        return sum_part(self.n_items, self.rows), count_part(self.n_items, self.rows)

    def add(self, block: UserBlock, sums: Sums) -> None:
        ready = self.rows.ready(block, WEIGHT_BITS, TARGET_BITS)
        kernels.scatter_sum(ready.items, ready.amounts, sums["sum"])
        kernels.scatter_sum(ready.items, ready.weights, sums["count"])


def sum_part(n_items: int, rows: Rows) -> Part:
    """The part of weighted targets."""
    w, t = rows.weight_grid(WEIGHT_BITS), rows.target_grid(TARGET_BITS)
    return Part("sum", (n_items,), w.limit * t.limit, w.step * t.step)


def count_part(n_items: int, rows: Rows) -> Part:
    """The part of weights: never negative, hence a cone."""
    w = rows.weight_grid(WEIGHT_BITS)
    return Part("count", (n_items,), w.limit, w.step, cone=True)
