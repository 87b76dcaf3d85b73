# SPDX-License-Identifier: Apache-2.0
"""The second moment of users' whole predicted rows after a gradient step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.bounding import grid, levels
from tacit.contributions.base import Contribution, Part, triangle
from tacit.contributions.rows import grid_of
from tacit.user_steps import GradientReplay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn

ROW_BITS = 17


@dataclass(frozen=True, slots=True, eq=False)
class DescendedRows(Contribution):
    """The sum of z^T z, items x items, over the rows z of `GradientReplay`, cut to its length L.

    A row has an entry for every item, rated or not: the prediction so far, less the step.

    Guarantee:
        One user moves "gram" by at most L^2 (Frobenius). proofs/contributions/descended-rows.md
    """

    fold: FoldIn

    @property
    def n_items(self) -> int:
        return self.fold.n_items

    @property
    def step(self) -> GradientReplay:
        step = self.fold.step
        if not isinstance(step, GradientReplay):
            raise TypeError("only a replay of projected gradient descent has such rows")
        return step

    @property
    def parts(self) -> tuple[Part, ...]:
        z = grid_of(self.step.length, ROW_BITS)
        shape = (triangle(self.n_items),)
        return (Part("gram", shape, z.limit**2, z.step**2, symmetric=True, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        bound = grid_of(self.step.length, ROW_BITS)
        Z = grid.snap_dense(self._rows(block), bound.step, bound.limit)
        Z = levels.scale_users(Z, block, "factor")
        kernels.gram(Z, np.ones(len(Z), np.int32), sums["gram"])

    def _rows(self, block: UserBlock) -> NDArray[np.float32]:
        """Z of every user, entry by entry: products by BLAS might depend on the other users."""
        step, V = self.step, self.fold.item_factors
        targets = self.fold.centring.targets(block)
        now = step.replayed(V, block, targets, len(step.kept))
        Z = np.zeros((block.n_users, self.n_items))
        if step.kept:
            for x, v in zip(now.x.T, V.T[-now.x.shape[1] :], strict=True):
                Z += x[:, None] * v.astype(np.float64)
        Z[block.user_of_rating(), block.items] -= step.rate * now.a
        Z *= now.cut[:, None]
        return Z.astype(np.float32)
