# SPDX-License-Identifier: Apache-2.0
"""What a user computes alone: her mean, her factors, her predictions.

Everything here is a function of public values and of one user's own row. Training uses it inside
contributions and serving uses it on the user's side, so both see the same bits. A user's results
do not depend on which other users share the call.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tacit import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.user_steps.base import UserStep

# Readers refuse what is not finite and clip to the scale. Cutting here as well keeps every float
# that follows finite, so that the bounds of contributions hold for any row at all.
LARGEST_RATING = 2.0**40


class RatedRows(Protocol):
    """Ratings of some users in CSR form, as in `UserBlock`."""

    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def items(self) -> NDArray[np.int32]: ...
    @property
    def values(self) -> NDArray[np.float32]: ...


def users_of(rows: RatedRows) -> NDArray[np.int64]:
    """For every rating the position of its user."""
    return np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """What is subtracted from a rating before anything is fitted to it.

    offsets: public, one for each item, or one number for all of them.
    mean_ridge: the user's own mean is shrunk toward zero as this many ratings of zero would;
        infinity leaves it out. It never leaves the user.
    """

    offsets: NDArray[np.float64] | float = field(default=0.0, repr=False)
    mean_ridge: float = math.inf

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.offsets)):
            raise ValueError("item offsets must be finite numbers")
        if not self.mean_ridge >= 0:
            raise ValueError(f"mean_ridge must be at least 0, got {self.mean_ridge}")

    def means(self, rows: RatedRows) -> NDArray[np.float64]:
        """Each user's shrunk mean of rating - item offset; 0 for a user without ratings."""
        return self._means(rows, self._residuals(rows))

    def targets(self, rows: RatedRows) -> NDArray[np.float32]:
        """Each rating - item offset - user's mean."""
        residuals = self._residuals(rows)
        if not math.isinf(self.mean_ridge):
            residuals -= np.repeat(self._means(rows, residuals), np.diff(rows.indptr))
        return residuals.astype(np.float32)

    def _residuals(self, rows: RatedRows) -> NDArray[np.float64]:
        """Each rating - item offset, finite whatever the rating."""
        ratings = np.clip(rows.values.astype(np.float64), -LARGEST_RATING, LARGEST_RATING)
        np.copyto(ratings, 0.0, where=np.isnan(ratings))
        offsets = self.offsets
        ratings -= offsets[rows.items] if isinstance(offsets, np.ndarray) else offsets
        return ratings

    def _means(self, rows: RatedRows, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shrunk means of the given residuals."""
        weights = np.maximum(np.diff(rows.indptr), 1) + self.mean_ridge
        return kernels.sum_rows(residuals, rows.indptr) / weights


@dataclass(frozen=True, slots=True, eq=False)
class FoldIn:
    """The public values with which a user finds her own factors: by least squares, or a `step`.

    item_factors: one float32 row for each item.
    centring: what her ratings lose before the factors are fitted to them.
    ridge: > 0; multiplied by n^ridge_power, where n counts her ratings (and `unobserved` times
        the catalogue). A normaliser over users would carry other users' data to her: fold a
        public one into `ridge`.
    unobserved: weight of a target of zero for every item of the catalogue (implicit feedback).
    step: what she does instead of least squares, where the algorithm says so (`user_steps`); ridge
        and weights then play no part.
    """

    item_factors: NDArray[np.float32] = field(repr=False)
    centring: Centring = field(default_factory=Centring)
    ridge: float = 1.0
    ridge_power: float = 0.0
    unobserved: float = 0.0
    step: UserStep | None = None
    prior: NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        V = self.item_factors
        if V.ndim != 2 or V.dtype != np.float32 or not np.all(np.isfinite(V)):
            raise ValueError("item_factors must be a float32 table of finite numbers")
        object.__setattr__(self, "item_factors", np.ascontiguousarray(V))
        if not 0 < self.ridge < math.inf:
            raise ValueError(f"ridge must be a positive number, got {self.ridge}")
        if not 0 <= self.unobserved < math.inf:
            raise ValueError(f"unobserved must be at least 0, got {self.unobserved}")
        if self.step is not None:
            self.step.check(V)
        # Computed once where the factors are made: workers with another BLAS see the same bits.
        prior = np.zeros((self.rank, self.rank), np.float32)
        if self.unobserved > 0:
            wide = V.astype(np.float64)
            prior = (self.unobserved * (wide.T @ wide)).astype(np.float32)
        object.__setattr__(self, "prior", prior)

    @property
    def n_items(self) -> int:
        return int(self.item_factors.shape[0])

    @property
    def rank(self) -> int:
        return int(self.item_factors.shape[1])

    def with_prior(self, prior: NDArray[np.float32]) -> FoldIn:
        """The same with the prior as another machine computed it; its last bits may differ."""
        largest = float(np.max(np.abs(self.prior), initial=0.0))
        if prior.shape != self.prior.shape or prior.dtype != np.float32:
            raise ValueError("prior must be a float32 table of rank x rank")
        if not np.all(np.abs(prior - self.prior) <= 1e-5 * largest):
            raise ValueError("prior does not belong to these item factors")
        same = copy.copy(self)
        object.__setattr__(same, "prior", prior)
        return same

    def user_factors(self, rows: RatedRows) -> NDArray[np.float32]:
        """Each user's least-squares solution, or what `step` says; zeros without ratings."""
        n_users = len(rows.indptr) - 1
        if self.rank == 0:
            return np.zeros((n_users, 0), np.float32)
        targets = self.centring.targets(rows)
        if self.step is not None:
            return np.ascontiguousarray(self.step.factors(self.item_factors, rows, targets))
        return kernels.solve_users(
            rows.indptr,
            rows.items,
            targets,
            np.ones(len(rows.items), np.float32),
            self.item_factors,
            self.ridges(rows),
            self.prior,
        )

    def ridges(self, rows: RatedRows) -> NDArray[np.float32]:
        """What is added to the diagonal of each user's equations."""
        seen = np.diff(rows.indptr) + self.unobserved * self.n_items
        ridge = self.ridge * np.maximum(seen, 1.0) ** self.ridge_power
        return ridge.astype(np.float32)

    def predict(self, known: RatedRows, asked: RatedRows) -> NDArray[np.float64]:
        """Ratings that the users of `known` would give to the items of `asked` (same users)."""
        means = np.repeat(self.centring.means(known), np.diff(asked.indptr))
        offsets = self.centring.offsets
        if isinstance(offsets, np.ndarray):
            offsets = offsets[asked.items]
        return means + offsets + inner_products(asked, self.user_factors(known), self.item_factors)


def inner_products(
    rows: RatedRows, user_factors: NDArray[np.float32], item_factors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """User factors . item factors for every rating listed in `rows`."""
    return kernels.row_products(
        rows.indptr,
        rows.items,
        np.ascontiguousarray(user_factors),
        np.ascontiguousarray(item_factors),
    )
