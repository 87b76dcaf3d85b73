# SPDX-License-Identifier: Apache-2.0
"""How one user's row is made ready for a sum: centred, limited, weighted, put on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

from tacit.bounding import clipping, grid, item_limit, levels, weights
from tacit.folding import Centring

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock


class Grid(NamedTuple):
    """What is on this grid has Euclidean norm at most `limit` steps of real size `step`."""

    limit: int
    step: float


def grid_of(l2: float, bits: int) -> Grid:
    """The grid on which a bound of `l2` is 2^bits steps long."""
    return Grid(grid.limit_for(bits), grid.step_for(l2, bits))


def snap_each(values: NDArray[np.floating], bound: Grid) -> NDArray[np.int32]:
    """Each number by itself to the nearest step within the limit; NaN counts as 0."""
    with np.errstate(over="ignore"):  # what overflows is cut to the limit with all that is too long
        steps = np.rint(values.astype(np.float64) / bound.step)
    np.copyto(steps, 0.0, where=np.isnan(steps))
    return np.clip(steps, -bound.limit, bound.limit, out=steps).astype(np.int32)


class Ready(NamedTuple):
    """CSR rows of integers inside the limits of their grids.

    weights: >= 0, and in every row sum(weights^2) <= limit^2 of `Rows.weight_grid`.
    targets: each within the limit of `Rows.target_grid`.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    weights: NDArray[np.int32]
    targets: NDArray[np.int32]

    def __repr__(self) -> str:
        return "Ready(<private rows>)"

    @property
    def amounts(self) -> NDArray[np.int32]:
        """Weights times targets, exact: their grids together have at most 30 bits."""
        return self.weights * self.targets


class RowPolicy(Protocol):
    """What of a user's row enters a second moment, as one vector of integers on a grid."""

    def prepared(self, block: UserBlock) -> UserBlock:
        """What enters of the block's users, each by her own row and public values only."""
        ...

    def snapped(
        self, prepared: UserBlock, bound: Grid, what: Literal["share", "factor"]
    ) -> NDArray[np.int32]:
        """Whole rows on the grid and inside its limit, for any values; levels scale them."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Public policy for what of a user's row enters a sum, and how much it weighs there.

    clip: a target (a rating less what `centring` subtracts) counts as at most this and at least
        minus this. It is applied after the centring, never before.
    centring: public item offsets, and how far the user's own mean is subtracted.
    weighting: "normalised" scales a row's weights so that their squares sum to 1; "ones" leaves
        them all at 1, so that only an item limit (or a clip of the whole row) bounds them.
    item_limit: at most so many ratings of each user enter.
    noisy_counts: released counts of the items. With them weights are proportional to count^-power
        before they are normalised, and an item limit keeps the rarest items; without them weights
        are equal and an item limit keeps a choice that looks random, from the public `seed`.
    among: a public mark of each item; ratings of other items do not enter. All do without it. It is
        looked at after the centring and before the item limit and the weights.
    """

    clip: float = 1.0
    centring: Centring = field(default_factory=Centring)
    weighting: Literal["normalised", "ones"] = "normalised"
    item_limit: int | None = None
    noisy_counts: NDArray[np.float64] | None = field(default=None, repr=False)
    power: float = 0.0
    seed: int = 0
    among: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise ValueError(f"clip must be a positive number, got {self.clip}")
        if self.weighting not in {"normalised", "ones"}:
            raise ValueError(f"weighting must be 'normalised' or 'ones', got {self.weighting!r}")
        if self.item_limit is not None and not 0 < self.item_limit < 2**31:
            raise ValueError(f"item_limit must be in 1..2^31 - 1, got {self.item_limit}")

    def weight_grid(self, bits: int) -> Grid:
        """A grid of about 2^bits steps for all the weights of one user together.

        Weights of 1 are a whole number of steps, so that rounding does not change them.
        """
        if self.weighting == "normalised":
            return grid_of(1.0, bits)
        if self.item_limit is None:
            raise ValueError("weights of 1 have no bound without item_limit: set one, or normalise")
        one = max(math.isqrt(grid.limit_for(bits) ** 2 // self.item_limit), 1)
        return Grid(math.isqrt(self.item_limit * one * one - 1) + 1, 1 / one)

    def target_grid(self, bits: int) -> Grid:
        """The grid of a single target."""
        return grid_of(self.clip, bits)

    def prepared(self, block: UserBlock) -> UserBlock:
        """The ratings that enter, with centred targets (not yet clipped) for values."""
        centred = block.with_values(self.centring.targets(block))
        if self.among is not None:
            centred = centred.keep(self.among[centred.items])
        if self.item_limit is None:
            return centred
        if self.noisy_counts is None:
            return item_limit.uniform(centred, self.item_limit, seed=self.seed)
        return item_limit.rarest_first(centred, self.item_limit, noisy_counts=self.noisy_counts)

    def weights(self, prepared: UserBlock) -> NDArray[np.float64]:
        """The real weights of what `prepared` returned."""
        if self.weighting == "ones":
            return np.ones(len(prepared.items))
        if self.noisy_counts is None:
            return weights.uniform(prepared)
        return weights.adaptive(prepared, noisy_counts=self.noisy_counts, power=self.power)

    def ready(self, block: UserBlock, weight_bits: int, target_bits: int) -> Ready:
        """Weights and targets as integers inside their limits."""
        rows = self.prepared(block)
        return Ready(
            rows.indptr,
            rows.items,
            self.snapped_weights(rows, weight_bits),
            snap_each(rows.values, self.target_grid(target_bits)),
        )

    def snapped_weights(self, prepared: UserBlock, bits: int) -> NDArray[np.int32]:
        """The weights of whole rows as integers inside the limit of `weight_grid`.

        A user's own level scales them.
        """
        w = self.weight_grid(bits)
        q = grid.snap(self.weights(prepared), prepared.indptr, w.step, w.limit)
        return levels.scale_ratings(q, prepared)

    def snapped(
        self, prepared: UserBlock, bound: Grid, what: Literal["share", "factor"] = "share"
    ) -> NDArray[np.int32]:
        """Whole rows of weights * clipped targets, shrunk to the bound where they are longer.

        A user's own level scales them; `what` is whether they are the share or are squared in it.
        """
        amounts = self.weights(prepared) * clipping.clip_values(prepared.values, self.clip)
        rows = amounts.astype(np.float32)
        shrunk = clipping.clip_rows(rows, prepared.indptr, bound.limit * bound.step)
        q = grid.snap(shrunk, prepared.indptr, bound.step, bound.limit)
        return levels.scale_ratings(q, prepared, what)
