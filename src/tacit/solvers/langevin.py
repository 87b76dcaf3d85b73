# SPDX-License-Identifier: Apache-2.0
"""Langevin dynamics on item factors (Liu et al., 2015): noisy gradients, each of them priced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemGradient, Rows, UserFactors
from tacit.folding import Centring, FoldIn
from tacit.mechanisms.posterior import FIRST_SIZE, Posterior
from tacit.solvers import posterior_sample
from tacit.solvers.offsets import OffsetSteps
from tacit.solvers.strength import strength
from tacit.solvers.warm_start import WarmStart, begin, check_start, hold, rank_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.warm_start import Begun

LEVEL = 0.4  # deviation of users' levels, as a share of a quarter of the scale's width


@dataclass(frozen=True, slots=True)
class Langevin:
    """Items go down a noisy gradient; users find their own factors anew at each step.

    Item offsets come first (see `OffsetSteps`). Then, with user factors x that every user solves
    for by herself, each step releases for each item the sum g_j of weight * residual * x, and sets

        V_j <- V_j + eta_t P_j (g_j + noise - Lambda_j V_j),    eta_t = step / t^decay

    with P_j the reciprocal of the item's curvature, from its noisy count. The result is the average
    of the later V, each weighing eta_t. `steps` and `step` are yours, calibration chooses the noise
    from the budget, and the temperature of the dynamics follows (`temperatures`). The privacy is
    that of the releases, however far the chain is from its limit.

    What is None follows from public quantities (see `recipe`).

    rank: number of factors, of which the first is the user's level, alike for all items; 0 leaves
        them out, where they would drown in noise, and takes her mean for her level.
    steps: how often the sums are released.
    step, decay: eta_t as above; at 1 and 0 an item goes to the optimum of its own quadratic.
    average_from: the share of the steps that is left out of the average.
    sample_rate: each user enters each gradient by a secret coin of this bias.
    unknown: share of the users' factors that their few ratings leave unknown, which shrinks V.
    chance: variance of a rating around its prediction, as a share of (width of the scale / 4)^2.
    explained: variance that all factors together explain, likewise.
    factor_bound: user factors longer than this times sqrt(rank) are cut to it.
    row_bound: a user's root mean square residual counts as at most this share of the width.
    offset_share: of mu^2, for offsets with counts; the gradients get the rest.
    seed: of the random factors it starts from; noise has no seed.
    start: an earlier model to begin from, whose offsets and factors are then what ridges pull to.

    guarantee="posterior" is the paper's Algorithm 1 in place of all this: one sample of the factors
    from a posterior at the temperature that the budget allows. It is private if the sample is
    exact, which no finite chain is; so it wants converged="assumed", and its statement says NOT
    PRIVATE. It uses rank (8 by default), steps, start (where the chain begins), and

    trim: tau, at most so many ratings of a user enter.
    kappa: predictions stay within the scale and this much beyond either end.
    most_weight: w_i is at most this; less where B, the bound of a user's loss, would be exceeded.
    ridge: lambda.
    """

    guarantee: Literal["noisy-gradient", "posterior"] = "noisy-gradient"
    rank: int | None = None
    steps: int = 30
    step: float = 1.0
    decay: float = 0.3
    average_from: float = 0.5
    sample_rate: float = 1.0
    unknown: float = 0.45
    chance: float = 0.7
    explained: float = 0.2
    factor_bound: float = 0.8
    row_bound: float = 0.18
    offset_share: float | None = None
    seed: int = 0
    converged: Literal["unknown", "assumed"] = "unknown"
    trim: int = 100
    kappa: float = 1.0
    most_weight: float = 1.0
    ridge: float = 1.0
    start: WarmStart | None = None

    def __post_init__(self) -> None:
        if self.guarantee not in {"noisy-gradient", "posterior"}:
            raise ValueError(f"no guarantee {self.guarantee!r}: 'noisy-gradient' or 'posterior'")
        if self.guarantee == "posterior" and self.converged != "assumed":
            raise ValueError(
                "guarantee='posterior' holds only if the chain has converged, which nothing can "
                "check; leave it at 'noisy-gradient', or say converged='assumed' if you must"
            )
        for name, least in (("rank", 0), ("steps", 1), ("seed", 0), ("trim", 1), ("kappa", 0)):
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        check_start(self.start)
        self._check_shares()

    def _check_shares(self) -> None:
        positive = ("step", "chance", "explained", "factor_bound", "row_bound")
        for name in (*positive, "most_weight", "ridge"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("decay", "average_from", "unknown"):
            if not 0 <= (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {value}")
        if not 0 < self.sample_rate <= 1:
            raise ValueError(f"sample_rate must be above 0 and at most 1, got {self.sample_rate}")
        if self.offset_share is not None and not 0 < self.offset_share < 1:
            raise ValueError(f"offset_share must be between 0 and 1, got {self.offset_share}")

    def plan(self, public: Public) -> Plan:
        if self.guarantee == "posterior":
            return posterior_sample.plan(self.target(public))
        h = self.recipe(public)
        first = h.offset_steps.releases(public)
        if h.rank == 0:
            return Plan(first)
        gradient = Release.share(
            "factors.gradient",
            l2=h.row_bound * h.factor_bound,
            share=h.gradient_share,
            times=self.steps,
            size=public.n_items * h.rank,
            sample_rate=self.sample_rate,
        )
        return Plan((*first, gradient))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        if self.guarantee == "posterior":
            target = self.target(public)
            if self.start:
                first = self.start.scaled(target.n_items, FIRST_SIZE)
                target = replace(target, first=first)
            return posterior_sample.fit(target, curator, self.steps)
        h = self.recipe(public)
        offsets = h.offset_steps.ask(curator, self.start)
        n, centring = offsets.counts, h.offset_steps.centring(public, offsets.values)
        V, home = h.begin(n, public.n_users, self.seed)
        if h.rank == 0:
            return h.fold(V, centring)
        # From here on the level is a factor, so it is found together with the others.
        centring = Centring(centring.offsets)
        rows = Rows(public.width, centring)
        zeta = self.temperatures(curator.plan)
        mean, weight = np.zeros_like(V), 0.0
        for t, eta in enumerate(self._etas(), start=1):
            users = UserFactors(h.fold(V, centring), h.factor_bound)
            answer = curator.noisy_sum(ItemGradient(rows, users, h.row_bound), "factors")
            g = answer["gradient"] / self.sample_rate
            ridge = h.ridge(n, zeta[t - 1] / 2, public)
            Lambda, P = self.unknown * n + ridge, 1 / (n + ridge)
            V = V + eta * P[:, None] * (g + ridge[:, None] * home - Lambda[:, None] * V)
            V[:, 0] = h.level
            if t > self.average_from * self.steps:
                weight += eta
                mean += eta / weight * (V - mean)
        return h.fold(mean, centring)

    def temperatures(self, plan: Plan) -> NDArray[np.float64]:
        """zeta_t of each step: it injects noise N(0, zeta_t eta_t), where the curvature is 1.

        So zeta_t is eta_t times the variance of the noise in a gradient, and the gradients together
        are mu-GDP with mu^2 = l2^2 sum of eta_t / zeta_t (all users in each step). Where the
        curvature is 1 / P_j, the noise is N(0, zeta_t P_j * eta_t P_j).
        """
        noise = plan["factors.gradient"].std / self.sample_rate
        return self._etas() * noise**2

    def target(self, public: Public) -> Posterior:
        """What guarantee="posterior" samples; 8 factors if no rank is given."""
        asked = 8 if self.rank is None and self.start is None else self.rank
        return Posterior(
            n_items=public.n_items,
            rank=max(rank_of(self.start, public, asked), 1),
            low=public.low,
            high=public.high,
            trim=self.trim,
            margin=self.kappa,
            most_weight=self.most_weight,
            ridge=self.ridge,
        )

    def _etas(self) -> NDArray[np.float64]:
        return self.step / np.arange(1, self.steps + 1, dtype=np.float64) ** self.decay

    def recipe(self, public: Public) -> Recipe:
        """Everything from public quantities, in the unit of the ratings.

        `strength` tells how many factors stand above the noise, and how much of the budget the
        offsets, which come first, should get.
        """
        rank = rank_of(self.start, public, self.rank, level=1)
        share = self.offset_share or float(np.clip(32 / strength(public), 0.18, 0.9))
        share = share if rank else 1.0
        unit = public.width / 4
        return Recipe(
            rank=rank,
            chance=self.chance * unit**2,
            factor_variance=self.explained * unit**2 / max(rank, 1),
            factor_bound=self.factor_bound * math.sqrt(max(rank, 1)),
            level=LEVEL * unit,
            row_bound=self.row_bound * public.width,
            offset_steps=OffsetSteps.usual(public, share),
            gradient_share=1 - share,
            start=self.start,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `Langevin.recipe` works out."""

    rank: int
    chance: float
    factor_variance: float
    factor_bound: float
    level: float
    row_bound: float
    offset_steps: OffsetSteps
    gradient_share: float
    start: WarmStart | None

    def ridge(self, n: NDArray[np.float64], noise: float, public: Public) -> NDArray[np.float64]:
        """For each item the pull toward zero: chance in its sums, and noise that steps leave."""
        weight = public.n_users / n.sum()
        ridge: NDArray[np.float64] = (self.chance * weight + noise / n) / self.factor_variance
        return ridge * self._hold(n, public.n_users)

    def _hold(self, n: NDArray[np.float64], n_users: int) -> NDArray[np.float64]:
        return hold(self.start, n, self.chance / self.factor_variance, n_users)

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """How a user finds her own factors: their prior covariance is I."""
        return FoldIn(V.astype(np.float32), centring, ridge=self.chance)

    def begin(self, n: NDArray[np.float64], n_users: int, seed: int) -> Begun:
        """Item factors of about the expected size: random, or those of an earlier model."""
        rng = np.random.default_rng(seed)
        V = rng.standard_normal((len(n), self.rank)) * math.sqrt(self.factor_variance)
        V, home = begin(self.start, V, self._hold(n, n_users), level=1)
        V[:, :1] = self.level
        return V, home
