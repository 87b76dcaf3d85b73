# SPDX-License-Identifier: Apache-2.0
"""What is left of a user's ratings after she has replayed the released directions, as rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tacit.bounding import grid, levels
from tacit.contributions.memo import key_of
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

    Y is a function of her own row and of the released directions, and so is A. Oja's method asks
    about the same A several times; between them the block may remember it.

    fold: its step is a `FrankWolfeReplay`.
    """

    fold: FoldIn
    key: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fold, step = self.fold, self.step
        public = (*step.pulls, step.keep, step.length, fold.centring.mean_ridge)
        key = key_of(None, "residuals", fold.item_factors, fold.centring.offsets, *public)
        object.__setattr__(self, "key", key)

    @property
    def step(self) -> FrankWolfeReplay:
        step = self.fold.step
        if not isinstance(step, FrankWolfeReplay):
            raise TypeError("only a replay of Frank-Wolfe leaves residuals")
        return step

    def prepared(self, block: UserBlock) -> UserBlock:
        """The same ratings with their residuals for values."""
        known = None if block.memo is None else block.memo.recall(self.key, "ratings")
        if known is None:
            targets = self.fold.centring.targets(block)
            known = self.step.residuals(self.fold.item_factors, block, targets)
            if block.memo is not None:
                block.memo.keep(self.key, "ratings", known)
        return block.with_values(known)

    def snapped(
        self, prepared: UserBlock, bound: Grid, what: Literal["share", "factor"] = "share"
    ) -> NDArray[np.int32]:
        """Whole rows on the grid, shrunk to the bound where they are longer, as `Rows.snapped`."""
        q = grid.snap(prepared.values, prepared.indptr, bound.step, bound.limit)
        return levels.scale_ratings(q, prepared, what)
