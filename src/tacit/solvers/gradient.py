# SPDX-License-Identifier: Apache-2.0
"""Private gradient descent on both factors (Wang, Zhao, Kolar, 2023, Algorithm 1: DPLMC)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import Descended, Descent, DescentRule, GramAndGradient, Rows, UserFactors
from tacit.contributions.base import triangle
from tacit.folding import Centring, FoldIn
from tacit.solvers.moments import between, cut, largest, second_moment, single
from tacit.solvers.normal_equations import unpacked
from tacit.solvers.offsets import Offsets, OffsetSteps
from tacit.solvers.spectral import SpectralStart
from tacit.solvers.strength import strength
from tacit.solvers.warm_start import WarmStart, begin, hold, rank_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.warm_start import Begun


@dataclass(frozen=True, slots=True)
class Gradient:
    """Users and items take a projected gradient step at a time: users by themselves, in replay.

    Item offsets come first (see `OffsetSteps`). Then each step releases the users' second moment
    and, for each item, the sum q_j of weight * residual * user factor, and sets

        R   <- U^T U / users - V^T V / items
        V_j <- V_j + eta (q_j - ridge_j V_j) / (n_j + ridge_j) + eta / 2 V_j R
        U_i <- U_i + eta (sum_j e_ij V_j - ridge U_i) / (n_i + ridge) - eta / 2 U_i R

    with the old V on the right, rows of U cut to alpha_1 and rows of V to alpha_2. U_i is never
    sent anywhere: it follows from user i's own row and what was released, step by step. In place
    of the paper's share p of known ratings, which is everybody's, stand a user's own number of
    ratings n_i and the released n_j. Second moments are means, so that U and V are of one size
    although there are more users than items: the paper's algorithm, in other units.

    What is None follows from public quantities (see `recipe`).

    rank: number of factors; 0 leaves them out, where they would drown in noise.
    steps: T, how often the two sums are released.
    eta: step size; at 1 a step goes as far as the largest second moment allows.
    balance: weight of the term that keeps U and V alike; 1 in the paper.
    chance: variance of a rating around its prediction, as a share of (width of the scale / 4)^2.
    explained: variance that all factors together explain, likewise.
    alpha_1, alpha_2: rows of U and V longer than this times their expected size are cut to it.
    row_bound: G; a user's root mean square residual counts as at most this share of the width.
    offset_share: of mu^2, for offsets with counts.
    omega: of what they leave, for U^T U; the sums get the rest.
    start: "random"; or "spectral" for the paper's Algorithm 2, which gets init_share likewise; or
        an earlier model to begin from, whose offsets and factors are then what ridges pull to.
    p: the share of known ratings, if it is public and items are rated alike; nothing is then
        released before the factors, and ratings are taken around the middle of the scale.
    mean_ridge: a user's mean is shrunk as by so many ratings of zero; infinity leaves it out.
    seed: of a random start; noise has no seed.
    """

    rank: int | None = None
    steps: int = 30
    eta: float = 0.5
    balance: float = 1.0
    chance: float = 0.7
    explained: float = 0.2
    alpha_1: float = 0.7
    alpha_2: float = 2.0
    row_bound: float = 0.18
    omega: float = 0.01
    offset_share: float | None = None
    start: Literal["random", "spectral"] | WarmStart = "random"
    init_share: float = 0.1
    p: float | None = None
    mean_ridge: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rank", 0), ("steps", 1), ("seed", 0)):
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("chance", "explained", "alpha_1", "alpha_2", "row_bound"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("eta", "omega", "offset_share", "init_share", "p"):
            if (value := getattr(self, name)) is not None and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        self._check_choices()

    def _check_choices(self) -> None:
        for name in ("balance", "mean_ridge"):
            if not (value := getattr(self, name)) >= 0:
                raise ValueError(f"{name} must be at least 0, got {value}")
        if self.earlier is None and self.start not in {"random", "spectral"}:
            raise ValueError(
                f"start must be 'random', 'spectral' or a WarmStart, got {self.start!r}"
            )
        if self.offset_share == 1 or not self.omega + self.init_share < 1:
            raise ValueError("offset_share and omega + init_share must be below 1")

    @property
    def earlier(self) -> WarmStart | None:
        """The model to begin from, if there is one."""
        return self.start if isinstance(self.start, WarmStart) else None

    def plan(self, public: Public) -> Plan:
        h = self.recipe(public)
        first = () if self.p else h.offset_steps.releases(public)
        if h.rank == 0:
            return Plan(first)
        if h.spectral:
            first = (*first, *h.spectral.releases(public))
        gram = Release.share(
            "factors.gram",
            l2=h.alpha_1**2,
            share=h.gram_share,
            times=self.steps,
            size=triangle(h.rank),
            cone=True,
        )
        gradient = Release.share(
            "factors.gradient",
            l2=h.row_bound * h.alpha_1,
            share=h.gradient_share,
            times=self.steps,
            size=public.n_items * h.rank,
            partner="factors.gram",
        )
        return Plan((*first, gram, gradient))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        h = self.recipe(public)
        n, centring = self._offsets(curator, h)
        if h.rank == 0:
            return FoldIn(np.zeros((public.n_items, 0), np.float32), centring)
        rows = Rows(public.width, centring)
        V, home = h.begin(curator, rows, n, self)
        V = cut(V, h.alpha_2)
        ridge = h.item_ridge(n, curator.plan["factors.gradient"].std, self.eta, public)
        rule = DescentRule(centring, h.chance / h.size, h.chance / h.size**2, h.alpha_1)
        first = V @ np.linalg.inv(second_moment(V, n) + 1e-9 * h.size * np.eye(h.rank))
        U = Descent(rule, single(first), None, 1.0, before=None)
        for _ in range(self.steps):
            question = GramAndGradient(
                rows, UserFactors(Descended(single(V), U), h.alpha_1), h.row_bound
            )
            answer = curator.noisy_sum(question, "factors")
            UU = between(unpacked(answer["gram"], h.rank) / public.n_users, h.alpha_1**2)
            R = UU - V.T @ V / public.n_items
            eta = self.eta / max(largest(UU), largest(second_moment(V, n)), h.size)
            pull = eta * self.balance / 2 * R
            U = Descent(rule, single(V), pull, eta, before=U)
            away = V - home
            step = (answer["gradient"] - h.size * ridge * away) / (n[:, None] + ridge)
            V = cut(V + eta * step + V @ pull, h.alpha_2)
        return FoldIn(single(V), centring, ridge=h.chance / h.size)

    def _offsets(self, curator: Curator, h: Recipe) -> tuple[NDArray[np.float64], Centring]:
        """Weighted counts of the items, and what ratings lose before factors are fitted."""
        public = curator.public
        if self.p is None:
            found = h.offset_steps.ask(curator, self.earlier)
        else:
            count = public.n_users * math.sqrt(self.p / public.n_items)
            found = Offsets(np.full(public.n_items, count), np.zeros(public.n_items))
        centring = h.offset_steps.centring(public, found.values)
        return found.counts, centring

    def recipe(self, public: Public) -> Recipe:
        """Everything from public quantities, in the unit of the ratings; rank and offsets as ALS's.

        size: variance of an entry of U and V, for which U V^T has the variance to be explained.
        """
        rank = rank_of(self.earlier, public, self.rank)
        if self.p is not None:
            rank = max(rank, 1)
        unit = public.width / 4
        size = math.sqrt(self.explained / max(rank, 1)) * unit
        length = math.sqrt(max(rank, 1) * size)
        share = self.offset_share or float(np.clip(32 / strength(public), 0.18, 0.9))
        share = share if rank else 1.0
        left = 1.0 if self.p else 1 - share
        init_share = self.init_share * left if self.start == "spectral" else 0.0
        row_bound = self.row_bound * public.width
        return Recipe(
            rank=rank,
            size=size,
            chance=self.chance * unit**2,
            alpha_1=self.alpha_1 * length,
            alpha_2=self.alpha_2 * length,
            row_bound=row_bound,
            offset_steps=OffsetSteps.usual(public, share, mean_ridge=self.mean_ridge),
            spectral=SpectralStart(rank, init_share, row_bound) if init_share else None,
            gram_share=self.omega * left,
            gradient_share=left - self.omega * left - init_share,
            earlier=self.earlier,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `Gradient.recipe` works out."""

    rank: int
    size: float
    chance: float
    alpha_1: float
    alpha_2: float
    row_bound: float
    offset_steps: OffsetSteps
    spectral: SpectralStart | None
    gram_share: float
    gradient_share: float
    earlier: WarmStart | None

    def item_ridge(
        self, n: NDArray[np.float64], noise: float, eta: float, public: Public
    ) -> NDArray[np.float64]:
        """For each item as many ratings of zero as chance and the noise of its steps call for."""
        weight = public.n_users / n.sum()
        left = noise**2 * eta / (2 - eta)
        ridge: NDArray[np.float64] = (self.chance * weight + left / n) / self.size**2
        return (ridge * self._hold(n, public.n_users))[:, None]

    def _hold(self, n: NDArray[np.float64], n_users: int) -> NDArray[np.float64]:
        return hold(self.earlier, n, self.chance / self.size**2, n_users)

    def begin(
        self, curator: Curator, rows: Rows, n: NDArray[np.float64], gradient: Gradient
    ) -> Begun:
        """The first item factors, and where ridges pull them to."""
        if self.spectral:
            return begin(None, self.spectral.ask(curator, rows, n))
        rng = np.random.default_rng(gradient.seed)
        V = rng.standard_normal((len(n), self.rank)) * math.sqrt(self.size)
        return begin(self.earlier, V, self._hold(n, curator.public.n_users))
