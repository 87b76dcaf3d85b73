# SPDX-License-Identifier: Apache-2.0
"""A user's own factors on their grid, and the products of them that least squares needs.

A share has at most 2^34 steps: sums over 10^8 users stay below 2^61, and noise of up to 2^11 times
the bound stays below the 2^45 steps to which the sampler is exact. Rounding moves each number by
at most half a step, without a preferred sign except on the diagonal of a Gram matrix, which gains
about a twelfth of a squared step of the factors for each user: 2^-25 of the squared bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tacit import kernels
from tacit.bounding import clipping, grid, levels
from tacit.contributions import by_item
from tacit.contributions.base import Part, triangle
from tacit.contributions.by_item import ItemShares
from tacit.contributions.rows import grid_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Grid, Ready, Rows
    from tacit.data.block import UserBlock

FACTOR_BITS = 11
WEIGHT_BITS = 12
TARGET_BITS = 11


class Finding(Protocol):
    """Public item factors, and how users find their own factors from them: `FoldIn` is one."""

    @property
    def item_factors(self) -> NDArray[np.float32]: ...
    @property
    def n_items(self) -> int: ...
    @property
    def rank(self) -> int: ...
    def user_factors(self, rows: UserBlock, /) -> NDArray[np.float32]:
        """Of each user's row and public values only; zeros for a user without ratings."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class UserFactors:
    """User factors as public policy: how users find theirs, and the norm that theirs are cut to."""

    fold: Finding
    bound: float

    @property
    def n_items(self) -> int:
        return self.fold.n_items

    @property
    def rank(self) -> int:
        return self.fold.rank

    @property
    def grid(self) -> Grid:
        """The grid of one user's factors."""
        return grid_of(self.bound, FACTOR_BITS)

    def snapped(self, block: UserBlock) -> NDArray[np.int32]:
        """Each user's factors as integers of norm at most the grid's limit; longer ones shrink."""
        return self.on_grid(self.fold.user_factors(block))

    def on_grid(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """The same for factors that are solved already."""
        cut = clipping.clip_norms(X, self.bound)
        return grid.snap_dense(cut, self.grid.step, self.grid.limit)


def ready_rows(rows: Rows, block: UserBlock) -> Ready:
    """Weights and targets on the grids that go with user factors."""
    return rows.ready(block, WEIGHT_BITS, TARGET_BITS)


def item_gram_part(rows: Rows, users: UserFactors) -> Part:
    """For each item the sum of w x x^T."""
    w, x = rows.weight_grid(WEIGHT_BITS), users.grid
    shape = (users.n_items, triangle(users.rank))
    limit, step = w.limit * x.limit**2, w.step * x.step**2
    return Part("gram", shape, limit, step, symmetric=True, cone=True)


def shared_gram_part(users: UserFactors) -> Part:
    """The sum of x x^T over users."""
    x = users.grid
    return Part("gram", (triangle(users.rank),), x.limit**2, x.step**2, symmetric=True, cone=True)


def rhs_part(rows: Rows, users: UserFactors) -> Part:
    """For each item the sum of w t x."""
    w, t, x = rows.weight_grid(WEIGHT_BITS), rows.target_grid(TARGET_BITS), users.grid
    limit, step = w.limit * t.limit * x.limit, w.step * t.step * x.step
    return Part("rhs", (users.n_items, users.rank), limit, step)


def add_item_grams(ready: Ready, X: NDArray[np.int32], sums: Sums) -> None:
    """Add to the part `item_gram_part`."""
    kernel = kernels.scatter_gram
    by_item.add(ItemShares("gram", kernel, ready.indptr, ready.items, ready.weights, X), sums)


def add_shared_gram(block: UserBlock, X: NDArray[np.int32], sums: Sums) -> None:
    """Add to the part `shared_gram_part`. A user weighs her own level; x = 0 without ratings."""
    X = levels.scale_users(X, block, "factor")
    kernels.gram(X, np.ones(len(X), np.int32), sums["gram"])


def add_rhs(ready: Ready, X: NDArray[np.int32], sums: Sums) -> None:
    """Add to the part `rhs_part`."""
    kernel = kernels.scatter_outer
    by_item.add(ItemShares("rhs", kernel, ready.indptr, ready.items, ready.amounts, X), sums)
