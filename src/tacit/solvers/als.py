# SPDX-License-Identifier: Apache-2.0
"""Private alternating least squares (Chien et al., 2021, Algorithm 1), with one shared Gram."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import GramAndGradient, Rows, UserFactors
from tacit.contributions.base import triangle
from tacit.folding import FoldIn
from tacit.solvers.normal_equations import residual_step, unpacked, weighted_counts
from tacit.solvers.offsets import OffsetSteps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.folding import Centring
    from tacit.mechanisms.curator import Curator

MOST_FACTORS = 32
START = 0.1


@dataclass(frozen=True, slots=True)
class ALS:
    """Users and items solve least squares in turn: users by themselves, items from noisy sums.

    Item offsets come first (see `OffsetSteps`). Each step then releases the users' second moment C
    and, for each item, the weighted sum g_j of residual times user factor, and sets

        V_j <- (1 - b) V_j + b (n_j C + ridge I)^-1 (g_j + n_j C V_j)

    Its fixed point is the least-squares solution although all items share C, because residuals are
    taken user by user. What is None follows from public quantities (see `recipe`).

    rank: number of factors; 0 leaves them out where they would drown in noise.
    steps: how often C and the sums are released.
    averaging: b. Below 1 every step's release counts, so that steps may be many and noisy.
    user_ridge, item_ridge: of the two least-squares problems.
    factor_bound: longer user factors are cut to this norm.
    row_bound: a user's root mean square residual counts as at most this share of the scale's width.
    count_power: a rating weighs as its item's noisy count to minus this power.
    count_share, offset_share, gram_share: of mu^2; the sums of the steps get the rest.
    seed: of the random factors it starts from; noise has no seed.
    """

    rank: int | None = None
    steps: int = 16
    averaging: float = 0.3
    user_ridge: float = 4.0
    item_ridge: float | None = None
    factor_bound: float = 1.0
    row_bound: float = 0.16
    count_power: float = 0.25
    count_share: float = 0.04
    offset_share: float | None = None
    gram_share: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rank", 0), ("steps", 1), ("seed", 0), ("count_power", 0)):
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("user_ridge", "item_ridge", "factor_bound", "row_bound"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("averaging", "count_share", "offset_share", "gram_share"):
            if (value := getattr(self, name)) is not None and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        if not self.count_share + (self.offset_share or 0) + self.gram_share < 1:
            raise ValueError("count_share + offset_share + gram_share must be below 1")

    def recipe(self, public: Public) -> ALS:
        """Fill in what is None, from public quantities alone.

        The signal of a factor is a sum over n users, its noise grows with sqrt(m) / mu for m items:
        n mu / sqrt(m) tells how many factors stand above the noise, and how much of the budget the
        offsets, which come first, should get. The ridge follows the noise of the sums.
        """
        strength = public.n_users * public.mu / math.sqrt(public.n_items)
        rank = round(min(MOST_FACTORS, 0.65 * math.sqrt(strength))) if strength >= 40 else 0
        rank = min(rank if self.rank is None else self.rank, public.n_items)
        share = self.offset_share or float(np.clip(30 / strength, 0.15, 0.85))
        known = replace(self, rank=rank, offset_share=share if rank else 1 - self.count_share)
        if rank == 0 or self.item_ridge is not None:
            return replace(known, item_ridge=self.item_ridge or 1.0)
        noise = 0.0 if math.isinf(public.mu) else known.gradient(public, rank).std / public.mu
        return replace(known, item_ridge=7 + 5 * noise)

    def plan(self, public: Public) -> Plan:
        h = self.recipe(public)
        r = h.rank or 0
        first = h.offset_steps(public).releases(public)
        if r == 0:
            return Plan(first)
        gram = Release.share(
            "factors.gram",
            l2=h.factor_bound**2,
            share=h.gram_share,
            times=h.steps,
            size=triangle(r),
            cone=True,
        )
        return Plan((*first, gram, h.gradient(public, r)))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        h = self.recipe(public)
        first = h.offset_steps(public)
        offsets = first.ask(curator)
        centring = first.centring(public, offsets.values)
        V = h.start(public)
        if not h.rank:
            return h.fold(V, centring)
        n = weighted_counts(offsets.counts, h.count_power)
        rows = Rows(public.width, centring, noisy_counts=offsets.counts, power=h.count_power)
        for t in range(h.steps):
            users = UserFactors(h.fold(V, centring), h.factor_bound)
            question = GramAndGradient(rows, users, h.row_bound * public.width)
            answer = curator.noisy_sum(question, "factors")
            C = unpacked(answer["gram"], h.rank) / public.n_users
            V_new = residual_step(n, C, answer["gradient"], V, h.item_ridge or 1.0)
            b = h.averaging if t else 1.0
            V = (1 - b) * V + b * V_new
        return h.fold(V, centring)

    def gradient(self, public: Public, rank: int) -> Release:
        """The sums of all steps together: what counts, offsets and Gram leave of mu^2."""
        taken = self.count_share + (self.offset_share or 0) + self.gram_share
        return Release.share(
            "factors.gradient",
            l2=self.row_bound * public.width * self.factor_bound,
            share=1 - taken,
            times=self.steps,
            size=public.n_items * rank,
            partner="factors.gram",
        )

    def offset_steps(self, public: Public) -> OffsetSteps:
        return OffsetSteps(
            count_share=self.count_share,
            sum_share=self.offset_share or 1 - self.count_share,
            steps=4,
            row_bound=public.width / 4,
            mean_ridge=1.0,
        )

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """How a user finds her own factors."""
        return FoldIn(V.astype(np.float32), centring, ridge=self.user_ridge)

    def start(self, public: Public) -> NDArray[np.float64]:
        """Random item factors, so short that the first user factors are small."""
        rng = np.random.default_rng(self.seed)
        rank = self.rank or 0
        return rng.standard_normal((public.n_items, rank)) * START / math.sqrt(max(rank, 1))
