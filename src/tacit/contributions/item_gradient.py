# SPDX-License-Identifier: Apache-2.0
"""The gradient of a squared loss with respect to the public item factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import kernels
from tacit.contributions import by_item, chance, factors
from tacit.contributions.base import Contribution, Part
from tacit.contributions.by_item import ItemShares
from tacit.contributions.rows import grid_of
from tacit.folding import inner_products

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.contributions.factors import UserFactors
    from tacit.contributions.rows import Grid, Rows
    from tacit.data.block import UserBlock

RESIDUAL_BITS = 18


@dataclass(frozen=True, slots=True, eq=False)
class ItemGradient(Contribution):
    """For each item the sum of w e x over its ratings: the direction in which the loss falls.

    e = t - x . v is the residual under the public factors and the user's own, of which each is cut
    to `rows.clip` and then a user's whole row w e to norm `row_bound`. The x that e is multiplied
    with is cut too; the one inside e is not, so that what fits well pulls little. Where nothing is
    cut, the gradient of sum w e^2 is -2 times the sum.

    Guarantee:
        One user moves "gradient" by at most row_bound bound, with bound that of x.
        proofs/contributions/item-gradient.md
    """

    rows: Rows
    users: UserFactors
    row_bound: float

    @property
    def parts(self) -> tuple[Part, ...]:
        e, x = self._row_grid, self.users.grid
        shape = (self.users.n_items, self.users.rank)
        return (Part("gradient", shape, e.limit * x.limit, e.step * x.step),)

    @property
    def _row_grid(self) -> Grid:
        """The grid of a user's row of residuals."""
        return grid_of(self.row_bound, RESIDUAL_BITS)

    def add(self, block: UserBlock, sums: Sums) -> None:
        self._add_gradient(block, self.users.fold.user_factors(block), sums)

    def _add_gradient(
        self,
        block: UserBlock,
        X: NDArray[np.float32],
        sums: Sums,
        chance_bound: float | None = None,
    ) -> None:
        """The part "gradient", for user factors that are solved already; "chance" if bounded."""
        rows = self.rows.prepared(block)
        residuals = rows.values - inner_products(rows, X, self.users.fold.item_factors)
        E = self.rows.snapped(rows.with_values(residuals), self._row_grid)
        pulls = (rows.indptr, rows.items, E, self.users.on_grid(X))
        by_item.add(ItemShares("gradient", kernels.scatter_outer, *pulls), sums)
        if chance_bound is not None:
            chance.add_chance(rows, residuals, chance_bound, sums)


@dataclass(frozen=True, slots=True, eq=False)
class GramAndGradient(ItemGradient):
    """`SharedGram` and `ItemGradient` in one pass, so that users solve once for both.

    chance_bound: with it each user adds her mean of target * residual too, cut to [0, chance_bound]
        (see contributions/chance.py).

    Guarantee:
        That of the two, and one user moves "chance" by at most chance_bound.
        proofs/contributions/item-gradient.md
    """

    chance_bound: float | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        (gradient,) = ItemGradient.parts.__get__(self)
        return (
            factors.shared_gram_part(self.users),
            gradient,
            *([] if self.chance_bound is None else [chance.chance_part(self.chance_bound)]),
        )

    def add(self, block: UserBlock, sums: Sums) -> None:
        X = self.users.fold.user_factors(block)
        factors.add_shared_gram(block, self.users.on_grid(X), sums)
        self._add_gradient(block, X, sums, self.chance_bound)
