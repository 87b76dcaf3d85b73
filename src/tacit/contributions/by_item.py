# SPDX-License-Identifier: Apache-2.0
"""Sums that hold a row of numbers for every item, and how some of the items are added up alone.

What a user adds to such a sum is a product of integers: an amount for each of her ratings, times a
row of her own. Kept as factors the shares of a block are as small as its ratings, and the sums of
any range of items can be made of them. An engine whose tasks must not hold all of the sums asks for
the factors (`Unadded`) and adds up one range after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.contributions.base import Sums

    Kernel = Callable[
        [
            NDArray[np.int64],
            NDArray[np.int32],
            NDArray[np.int32],
            NDArray[np.int32],
            NDArray[np.int64],
        ],
        None,
    ]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemShares:
    """What a block adds to the part of this name: amounts of ratings, X of users, all integers.

    kernel: multiplies and adds them up; `scatter_outer` or `scatter_gram`.
    """

    part: str
    kernel: Kernel
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    amounts: NDArray[np.int32]
    X: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.indptr, self.items, self.amounts, self.X))

    def add_up(self, sums: Sums) -> None:
        """Add to the part, which holds as many items as these shares are about."""
        self.kernel(self.indptr, self.items, self.amounts, self.X, sums[self.part])

    def within(self, start: int, stop: int) -> ItemShares:
        """The same for the items start..stop, which are counted from `start`."""
        chosen = (self.items >= start) & (self.items < stop)
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen, dtype=np.int64)])
        return replace(
            self,
            indptr=before[self.indptr],
            items=self.items[chosen] - np.int32(start),
            amounts=self.amounts[chosen],
        )


class Unadded(dict[str, "NDArray[np.int64]"]):
    """Sums without the parts by item, of which the shares are kept instead of being added up."""

    def __init__(self, others: Sums) -> None:
        super().__init__(others)
        self.shares: list[ItemShares] = []

    def __repr__(self) -> str:
        return "Unadded(<exact sums and private rows>)"

    @property
    def nbytes(self) -> int:
        """Of the shares."""
        return sum(shares.nbytes for shares in self.shares)


def add(shares: ItemShares, sums: Sums) -> None:
    """Add the shares up, or keep them where they are asked for."""
    if isinstance(sums, Unadded):
        sums.shares.append(shares)
    else:
        shares.add_up(sums)
