# SPDX-License-Identifier: Apache-2.0
"""One second moment of the user factors for all items, and the right-hand sides that go with it.

The normal matrix of item j is then n_j C + ridge I, with n_j a released weighted count and C the
released moment per user: r (r + 1) / 2 released numbers instead of that many for every item.
For implicit feedback the same moment is what the unobserved ratings of every item add.
"""

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
class SharedGram(Contribution):
    """The sum over users of x x^T, for their own factors x.

    Guarantee:
        One user moves "gram" by at most bound^2 (Frobenius), with bound that of x.
        proofs/contributions/shared-gram.md
    """

    users: UserFactors

    @property
    def parts(self) -> tuple[Part, ...]:
        return (factors.shared_gram_part(self.users),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        factors.add_shared_gram(block, self.users.snapped(block), sums)


@dataclass(frozen=True, slots=True, eq=False)
class RightHandSides(Contribution):
    """For each item the sum of w t x over its ratings, as in `LeastSquares`.

    For the steps of a plan that keep an earlier Gram matrix.

    Guarantee:
        One user moves "rhs" by at most ||w|| clip bound. proofs/contributions/shared-gram.md
    """

    rows: Rows
    users: UserFactors

    @property
    def parts(self) -> tuple[Part, ...]:
        return (factors.rhs_part(self.rows, self.users),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        ready = factors.ready_rows(self.rows, block)
        factors.add_rhs(ready, self.users.snapped(block), sums)


@dataclass(frozen=True, slots=True, eq=False)
class SharedLeastSquares(Contribution):
    """`SharedGram` and `RightHandSides` in one pass, so that users solve once for both.

    Guarantee:
        That of the two. proofs/contributions/shared-gram.md
    """

    rows: Rows
    users: UserFactors

    @property
    def parts(self) -> tuple[Part, ...]:
        return factors.shared_gram_part(self.users), factors.rhs_part(self.rows, self.users)

    def add(self, block: UserBlock, sums: Sums) -> None:
        X = self.users.snapped(block)
        factors.add_shared_gram(block, X, sums)
        factors.add_rhs(factors.ready_rows(self.rows, block), X, sums)
