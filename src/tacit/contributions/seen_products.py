# SPDX-License-Identifier: Apache-2.0
"""The users' second moment of what they have seen, times their factors: many directions at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.bounding import grid, levels
from tacit.contributions import by_item
from tacit.contributions.base import Contribution, Part
from tacit.contributions.by_item import ItemShares
from tacit.contributions.factors import UserFactors
from tacit.contributions.rows import grid_of
from tacit.user_steps import SeenProjection

if TYPE_CHECKING:
    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Grid
    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn

ROW_BITS = 18


@dataclass(frozen=True, slots=True, eq=False)
class SeenProducts(Contribution):
    """For each item the sum over users of a x: A^T (A P) for factors x = a P, where none is cut.

    a is a user's row of amounts (see `SeenProjection`) divided by its norm; x are her factors,
    divided by the same norm and cut to the bound.

    Guarantee:
        One user moves "product" by at most the bound of x. proofs/contributions/seen-products.md
    """

    fold: FoldIn
    bound: float

    @property
    def n_items(self) -> int:
        return self.fold.n_items

    @property
    def step(self) -> SeenProjection:
        step = self.fold.step
        if not isinstance(step, SeenProjection):
            raise TypeError("only users who project what they have seen have such rows")
        return step

    @property
    def parts(self) -> tuple[Part, ...]:
        a, x = self._row_grid, self._users.grid
        shape = (self.n_items, self.fold.rank - self.step.beside)
        return (Part("product", shape, a.limit * x.limit, a.step * x.step),)

    @property
    def _row_grid(self) -> Grid:
        """The grid of a user's row."""
        return grid_of(1.0, ROW_BITS)

    @property
    def _users(self) -> UserFactors:
        return UserFactors(self.fold, self.bound)

    def add(self, block: UserBlock, sums: Sums) -> None:
        fold, a = self.fold, self._row_grid
        targets = fold.centring.targets(block)
        amounts = self.step.amounts(fold.item_factors, block, targets)
        lengths = self.step.lengths(block, amounts)
        rows = amounts / np.repeat(lengths, np.diff(block.indptr))
        q = levels.scale_ratings(grid.snap(rows, block.indptr, a.step, a.limit), block)
        x = (fold.user_factors(block) / lengths[:, None]).astype(np.float32)
        X = self._users.on_grid(x[:, : -self.step.beside])
        shares = ItemShares("product", kernels.scatter_outer, block.indptr, block.items, q, X)
        by_item.add(shares, sums)
