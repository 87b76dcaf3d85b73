# SPDX-License-Identifier: Apache-2.0
"""What is left of a user's ratings after she has replayed the released directions, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit.bounding import grid, levels
from tacit.user_steps import FrankWolfeReplay

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.contributions.rows import Grid
    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A = P(Y - Y*), for `Covariance`, `PowerProduct` and `PowerEnergy`.

    Y is a function of her own row and of the released directions, and so is A.

    fold: its step is a `FrankWolfeReplay`.
    """

    fold: FoldIn

    def prepared(self, block: UserBlock) -> UserBlock:
        """The same ratings with their residuals for values."""
        step = self.fold.step
        if not isinstance(step, FrankWolfeReplay):
            raise TypeError("only a replay of Frank-Wolfe leaves residuals")
        targets = self.fold.centring.targets(block)
        return block.with_values(step.residuals(self.fold.item_factors, block, targets))

    def snapped(
        self, prepared: UserBlock, bound: Grid, what: Literal["share", "factor"] = "share"
    ) -> NDArray[np.int32]:
        """Whole rows on the grid, shrunk to the bound where they are longer, as `Rows.snapped`."""
        q = grid.snap(prepared.values, prepared.indptr, bound.step, bound.limit)
        return levels.scale_ratings(q, prepared, what)
