# SPDX-License-Identifier: Apache-2.0
"""A second moment of the user factors for each item, and the gradient that goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.contributions import chance, factors
from tacit.contributions.item_gradient import ItemGradient

if TYPE_CHECKING:
    from tacit.contributions.base import Part, Sums
    from tacit.data.block import UserBlock


@dataclass(frozen=True, slots=True, eq=False)
class ItemGramsAndGradient(ItemGradient):
    """The part "gram" of `LeastSquares` and `ItemGradient`, from one user solve.

    The gradient is bounded by a user's whole row, so the two are no partners in the sense of
    Lemma J: replacing a user is priced for each of them alone.

    chance_bound: as in `GramAndGradient`.

    Guarantee:
        One user moves "gram" by at most ||w|| bound^2 (Frobenius), with bound that of x and ||w||
        as in `ItemCounts`, "gradient" as `ItemGradient` says and "chance" by at most chance_bound.
        proofs/contributions/item-gradient.md
    """

    chance_bound: float | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        (gradient,) = ItemGradient.parts.__get__(self)
        return (
            factors.item_gram_part(self.rows, self.users),
            gradient,
            *([] if self.chance_bound is None else [chance.chance_part(self.chance_bound)]),
        )

    def add(self, block: UserBlock, sums: Sums) -> None:
        X = self.users.fold.user_factors(block)
        ready = factors.ready_rows(self.rows, block)
        factors.add_item_grams(ready, self.users.on_grid(X), sums)
        self._add_gradient(block, X, sums, self.chance_bound)
