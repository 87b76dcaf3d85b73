# SPDX-License-Identifier: Apache-2.0
"""The normal equations of every item, from users who solve for their own factors first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.contributions import factors
from tacit.contributions.base import Contribution

if TYPE_CHECKING:
    from tacit.contributions.base import Part, Sums
    from tacit.contributions.factors import UserFactors
    from tacit.contributions.rows import Rows
    from tacit.data.block import UserBlock


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares(Contribution):
    """For each item the sums of w x x^T ("gram") and of w t x ("rhs") over its ratings.

    x is a user's own factors given the public ones; w and t are the weight and the clipped target
    of her rating. Both parts have the same integer w and x, so that they belong to one
    least-squares problem.

    Guarantee:
        One user moves "gram" by at most ||w|| bound^2 (Frobenius) and "rhs" by at most
        ||w|| clip bound, with bound that of x and ||w|| as in `ItemCounts`.
        proofs/contributions/least-squares.md
    """

    rows: Rows
    users: UserFactors

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            factors.item_gram_part(self.rows, self.users),
            factors.rhs_part(self.rows, self.users),
        )

    def add(self, block: UserBlock, sums: Sums) -> None:
        ready = factors.ready_rows(self.rows, block)
        X = self.users.snapped(block)
        factors.add_item_grams(ready, X, sums)
        factors.add_rhs(ready, X, sums)
