# SPDX-License-Identifier: Apache-2.0
"""Private projected gradient descent, a baseline of Jain, Thakkar and Thakurta (2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import DescendedRows
from tacit.contributions.base import triangle
from tacit.folding import FoldIn
from tacit.solvers.cleansing import without_noise
from tacit.solvers.directions import check_pairs
from tacit.solvers.moments import leading
from tacit.solvers.normal_equations import unpacked
from tacit.solvers.start import Start
from tacit.user_steps import GradientReplay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator


@dataclass(frozen=True, slots=True)
class ProjectedGradient:
    """Z <- Pi_L(Y - rate P(Y - Y*)), then Y <- Z projected on nuclear norm at most k and low rank.

    The curator releases W = Z^T Z + N; its eigenvectors V and eigenvalues say what the projection
    keeps of each direction, and each user projects her own row, Y_i <- (Z_i V) diag(kept) V^T. Item
    offsets come first (see `OffsetSteps`); Y* is what is left of the ratings.

    steps: T, how many noisy matrices are released.
    rank: of the projection; without noise and with all items it is the one on the nuclear norm.
    nuclear_norm: k, relative to a rank-one matrix whose users' rows are all L long.
    rate: of the gradient step; 1 puts her own ratings in place of their predictions.
    row_bound: L, for a user's whole row, as a share of the width of the scale.
    offset_share: of mu^2, for counts and item offsets; 0 leaves them out.
    """

    steps: int = 5
    rank: int = 4
    nuclear_norm: float = 1.0
    rate: float = 1.0
    row_bound: float = 1.5
    offset_share: float = 0.3

    def __post_init__(self) -> None:
        for name in ("steps", "rank"):
            if not 1 <= (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("nuclear_norm", "rate", "row_bound"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        Start(self.offset_share)  # checks it

    def plan(self, public: Public) -> Plan:
        check_pairs(public.n_items)
        L, size = self.row_bound * public.width, triangle(public.n_items)
        share = 1 - self.offset_share
        rows = Release.share(
            "rows.gram", l2=L**2, share=share, times=self.steps, size=size, cone=True
        )
        return Plan((*Start(self.offset_share).releases(public), rows))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        n, rank = public.n_items, min(self.rank, public.n_items)
        L = self.row_bound * public.width
        k = self.nuclear_norm * L * math.sqrt(public.n_users)
        centring, _ = Start(self.offset_share).ask(curator)
        V, Y = np.zeros((n, 0), np.float32), GradientReplay(self.rate, L, rank)
        for t in range(self.steps):
            Z = DescendedRows(FoldIn(V, centring, step=Y))
            W = unpacked(curator.noisy_sum(Z, "rows")["gram"], n)
            values, vectors = leading(W, rank)
            sigma = curator.plan["rows.gram"].std
            s = np.sqrt(without_noise(values, sigma / math.sqrt(2), n))
            v = vectors.astype(np.float32)
            turn = V[:, -rank:].astype(np.float64).T @ v
            Y = replace(
                Y,
                kept=(*Y.kept, tuple((shrunk(s, k) / np.where(s > 0, s, 1.0)).tolist())),
                turns=(*Y.turns, tuple(map(tuple, turn.tolist()))) if t else (),
            )
            V = np.column_stack([V, v])
        return FoldIn(V, centring, step=Y)


def shrunk(s: NDArray[np.float64], k: float) -> NDArray[np.float64]:
    """The nearest numbers of at least 0 whose sum is at most k; s are singular values."""
    if s.sum() <= k:
        return s
    descending = np.sort(s)[::-1]
    excess = (np.cumsum(descending) - k) / np.arange(1, len(s) + 1)
    threshold = excess[np.flatnonzero(descending > excess)[-1]]
    nearest: NDArray[np.float64] = np.maximum(s - threshold, 0.0)
    return nearest
