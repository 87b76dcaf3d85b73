# SPDX-License-Identifier: Apache-2.0
"""How well public factors fit the users, one bounded number from each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit import kernels
from tacit.bounding import levels
from tacit.contributions.base import Contribution, Part
from tacit.contributions.rows import grid_of, snap_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.contributions.rows import Grid
    from tacit.data.block import UserBlock
    from tacit.folding import FoldIn

METRIC_BITS = 20


@dataclass(frozen=True, slots=True, eq=False)
class UserMetric(Contribution):
    """The sum over users of each user's mean error, which is cut to [0, bound].

    held_out: a public mark for each item. A user then finds her factors from her ratings of the
        items that are not marked and is tested on the marked ones; without it, all ratings serve
        for both.

    Guarantee:
        One user moves "sum" by at most bound. A user with nothing to be tested on adds 0.
        proofs/contributions/user-metric.md
    """

    fold: FoldIn
    bound: float
    error: Literal["squared", "absolute"] = "squared"
    held_out: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.error not in {"squared", "absolute"}:
            raise ValueError(f"error must be 'squared' or 'absolute', got {self.error!r}")
        if self.held_out is not None and self.held_out.shape != (self.fold.n_items,):
            raise ValueError(f"held_out must mark every item, got shape {self.held_out.shape}")

    @property
    def _grid(self) -> Grid:
        """The grid of one user's number."""
        return grid_of(self.bound, METRIC_BITS)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("sum", (1,), self._grid.limit, self._grid.step, cone=True),)

    def add(self, block: UserBlock, sums: Sums) -> None:
        known, tested = self._halves(block)
        errors = tested.values - self.fold.predict(known, tested)
        errors = errors * errors if self.error == "squared" else np.abs(errors)
        numbers = np.maximum(np.diff(tested.indptr), 1)
        means = kernels.sum_rows(errors, tested.indptr) / numbers
        snapped = levels.scale_users(snap_each(means, self._grid), block)
        kernels.scatter_sum(np.zeros(len(snapped), np.int32), snapped, sums["sum"])

    def _halves(self, block: UserBlock) -> tuple[UserBlock, UserBlock]:
        """What a user folds herself in with, and what she is tested on."""
        if self.held_out is None:
            return block, block
        marked = self.held_out[block.items]
        return block.keep(~marked), block.keep(marked)
