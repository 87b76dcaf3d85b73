# SPDX-License-Identifier: Apache-2.0
"""Which items a user rated, as a row of her weights: how she rated them does not enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit.bounding import grid, levels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.contributions.rows import Grid, Rows
    from tacit.data.block import UserBlock


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The weights of `rows` without its targets, for `Covariance`: how often two items meet.

    With normalised weights a row has norm 1.
    """

    rows: Rows

    def prepared(self, block: UserBlock) -> UserBlock:
        return self.rows.prepared(block)

    def snapped(
        self, prepared: UserBlock, bound: Grid, what: Literal["share", "factor"] = "share"
    ) -> NDArray[np.int32]:
        """Whole rows on the grid, shrunk to the bound where they are longer."""
        weights = self.rows.weights(prepared)
        q = grid.snap(weights, prepared.indptr, bound.step, bound.limit)
        return levels.scale_ratings(q, prepared, what)
