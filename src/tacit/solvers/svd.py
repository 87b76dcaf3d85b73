# SPDX-License-Identifier: Apache-2.0
"""Private SVD (Jain, Thakkar and Thakurta, 2018) and McSherry and Mironov (2009), for users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan
from tacit.contributions import Rows, Seen
from tacit.folding import FoldIn
from tacit.solvers.cleansing import cleansed, factors_of, nearest
from tacit.solvers.directions import Dense, Oja
from tacit.solvers.moments import leading
from tacit.solvers.start import Start
from tacit.user_steps import Neighbours, Projection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Release
    from tacit.folding import Centring
    from tacit.mechanisms.curator import Curator


@dataclass(frozen=True, slots=True)
class SVD:
    """Directions from one noisy second moment of the users' rows; the rest each user does alone.

    Item offsets come first (see `OffsetSteps`), then one of:

    "local-projection" (001, private SVD): the top subspace V of the sum of y y^T + N, for rows y
        cut to a bound; a user's predictions are her row projected on it, y V V^T.
    "cleansed" (McSherry and Mironov): Cov, the sum of w y y^T, and Wgt, the sum of w e e^T over the
        marks e of what was rated, w = 1 / ratings; Cov / Wgt, shrunk where few met, gives factors
        V by its eigenvectors. A user fits V to her ratings by least squares.
    "knn": the same, but an item is predicted by the items with the largest covariance.

    rank: number of directions.
    neighbours: of an item, for "knn".
    row_bound: rows are cut to this share of the width of the scale; the weights w make a row of
        "cleansed" and "knn" as long as the root mean square of its targets.
    ridge: for "local-projection" and "knn", a user counts as one with so many ratings more.
    weight_share: of mu^2 beside the offsets, for Wgt.
    offset_share: of mu^2, for counts and item offsets; 0 leaves them out.
    direction: "oja" finds the directions of "local-projection" one after the other by products,
        whose memory is linear in the items.
    oja_steps: how many products for one direction.
    seed: of the vectors that Oja's method starts from; noise has no seed.
    """

    method: Literal["cleansed", "local-projection", "knn"] = "cleansed"
    rank: int = 6
    neighbours: int = 20
    row_bound: float = 0.25
    ridge: float = 10.0
    weight_share: float = 0.2
    offset_share: float = 0.3
    direction: Literal["dense", "oja"] = "dense"
    oja_steps: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in {"cleansed", "local-projection", "knn"}:
            raise ValueError(
                f"method must be 'cleansed', 'local-projection' or 'knn', got {self.method!r}"
            )
        for name, least in (("rank", 1), ("neighbours", 1), ("oja_steps", 1), ("seed", 0)):
            if not least <= (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if not 0 < self.row_bound < math.inf:
            raise ValueError(f"row_bound must be a positive number, got {self.row_bound}")
        if not 0 <= self.ridge < math.inf:
            raise ValueError(f"ridge must be at least 0, got {self.ridge}")
        if not 0 < self.weight_share < 1:
            raise ValueError(f"weight_share must be between 0 and 1, got {self.weight_share}")
        if self.direction not in {"dense", "oja"}:
            raise ValueError(f"direction must be 'dense' or 'oja', got {self.direction!r}")
        if self.direction == "oja" and self.method != "local-projection":
            raise ValueError(
                f"method={self.method!r} needs all pairs of items; direction='oja' goes with "
                "method='local-projection'"
            )
        Start(self.offset_share)  # checks it

    def plan(self, public: Public) -> Plan:
        left, n = 1 - self.offset_share, public.n_items
        releases: tuple[Release, ...] = Start(self.offset_share).releases(public)
        if self.method == "local-projection":
            times = self._rank(public) if self.direction == "oja" else 1
            return Plan(releases + self._rows_moment(public).releases(left, times, n))
        releases += self._rows_moment(public).releases(left * (1 - self.weight_share), 1, n)
        return Plan(releases + Dense("weights", 1.0).releases(left * self.weight_share, 1, n))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        centring, _ = Start(self.offset_share).ask(curator)
        if self.method == "local-projection":
            V = self._subspace(curator, centring)
            step = Projection(public.n_items, self.ridge)
            return FoldIn(V.astype(np.float32), centring, step=step)
        rows = Rows(public.width, centring)
        moment = Dense("rows", self.row_bound * public.width)
        weights = Dense("weights", 1.0)
        C = cleansed(
            moment.matrix(curator, rows),
            weights.matrix(curator, Seen(rows)),
            moment.noise(curator.plan),
            weights.noise(curator.plan),
        )
        if self.method == "knn":
            S = nearest(C.values, self.neighbours).astype(np.float32)
            return FoldIn(S, centring, step=Neighbours(public.n_items, self.ridge))
        V, chance = factors_of(C, self._rank(public))
        floor = (0.05 * public.width) ** 2
        return FoldIn(V.astype(np.float32), centring, ridge=max(chance, floor))

    def _rank(self, public: Public) -> int:
        return min(self.rank, public.n_items)

    def _rows_moment(self, public: Public) -> Dense | Oja:
        bound = self.row_bound * public.width
        if self.direction == "oja":
            return Oja("rows", bound, self.oja_steps)
        return Dense("rows", bound)

    def _subspace(self, curator: Curator, centring: Centring) -> NDArray[np.float64]:
        """Orthonormal columns that span the top of the rows' second moment."""
        public = curator.public
        rows, moment = Rows(public.width, centring, weighting="ones"), self._rows_moment(public)
        V = np.zeros((public.n_items, 0))
        if isinstance(moment, Dense):
            return leading(moment.matrix(curator, rows), self._rank(public))[1]
        rng = np.random.default_rng(self.seed)
        for _ in range(self._rank(public)):
            V = np.column_stack([V, moment.ask(curator, rows, rng, beside=V)])
        return V
