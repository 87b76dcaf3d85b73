# SPDX-License-Identifier: Apache-2.0
"""Users who find their factors by gradient descent, a step for each release of item factors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.bounding import clipping
from tacit.contributions.memo import key_of, replayed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.data.memory import Along
    from tacit.folding import Centring


@dataclass(frozen=True, slots=True, eq=False)
class DescentRule:
    """What is the same in all steps.

    centring: what her ratings lose before anything is fitted to them.
    ridge: her factors are drawn toward zero as by so much curvature, and her n ratings count as
        n + this many; neither needs anybody else's number of ratings.
    bound: longer factors are cut to this norm after each step.
    """

    centring: Centring
    ridge: float
    ridge_ratings: float
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """x <- x (I - pull) + rate / (n + ridge_ratings) (sum_j (y_j - x . v_j) v_j - ridge x), cut.

    A `Replay`; every field is public, released before this step was asked for.

    factors: the v_j of this step.
    pull: rank x rank; None for none.
    """

    rule: DescentRule
    factors: NDArray[np.float32] = field(repr=False)
    pull: NDArray[np.float64] | None = field(repr=False)
    rate: float
    before: Descent | None = field(repr=False)
    key: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rule = self.rule
        fixed = ("descent", rule.ridge, rule.ridge_ratings, rule.bound)
        centring = (rule.centring.offsets, rule.centring.mean_ridge)
        key = key_of(self.before, *fixed, *centring, self.factors, self.pull, self.rate)
        object.__setattr__(self, "key", key)

    @property
    def along(self) -> Along:
        return "users"

    def start(self, block: UserBlock) -> NDArray[np.float32]:
        """Nobody knows anything of herself yet."""
        return np.zeros((block.n_users, self.factors.shape[1]), np.float32)

    def advance(self, block: UserBlock, state: NDArray[np.float32]) -> NDArray[np.float32]:
        rule = self.rule
        turn = np.eye(self.factors.shape[1])
        if self.pull is not None:
            turn = turn - self.pull
        rates = self.rate / np.maximum(np.diff(block.indptr) + rule.ridge_ratings, 1.0)
        moved = kernels.descend_users(
            block.indptr,
            block.items,
            rule.centring.targets(block),
            self.factors,
            state,
            turn.astype(np.float32),
            rates.astype(np.float32),
            rule.ridge,
        )
        return clipping.clip_norms(moved, rule.bound)


@dataclass(frozen=True, slots=True, eq=False)
class Descended:
    """User factors after the steps so far, beside the item factors that they now face."""

    item_factors: NDArray[np.float32] = field(repr=False)
    last: Descent = field(repr=False)

    @property
    def n_items(self) -> int:
        return int(self.item_factors.shape[0])

    @property
    def rank(self) -> int:
        return int(self.item_factors.shape[1])

    def user_factors(self, block: UserBlock) -> NDArray[np.float32]:
        """Each user's factors; zeros for a user without ratings."""
        return replayed(self.last, block)
