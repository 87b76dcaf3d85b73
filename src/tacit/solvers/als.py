# SPDX-License-Identifier: Apache-2.0
"""Private alternating least squares (Chien et al., 2021, Algorithm 1), with one shared Gram."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan
from tacit.contributions import GramAndGradient, Rows, UserFactors
from tacit.contributions.base import triangle
from tacit.folding import Centring, FoldIn
from tacit.solvers.chance import Chance
from tacit.solvers.implicit import Implicit, check_feedback, implicit_of
from tacit.solvers.normal_equations import expected_step, unpacked
from tacit.solvers.offsets import COUNTS_OF_OFFSETS, OffsetSteps
from tacit.solvers.per_item import PerItem
from tacit.solvers.pricing import priced
from tacit.solvers.strength import strength
from tacit.solvers.warm_start import WarmStart, begin, check_start, hold, rank_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator, NoisySums
    from tacit.solvers.warm_start import Begun

MOST_CHANCE = 1.0  # erratic users count as at most this, as a share of (width / 4)^2
MOST_EXPLAINED = 0.2  # by all factors together, as a share of (width / 4)^2
MOST_OF_A_FACTOR = 0.015
MOST_GRAM_BYTES = 1 << 28
LEVEL = 0.8  # deviation of users' levels, as a share of width / 4; too much costs little


@dataclass(frozen=True, slots=True)
class ALS:
    """Users and items solve least squares in turn: users by themselves, items from noisy sums.

    Item offsets come first (see `OffsetSteps`). Then a rating less its item's offset is
    x . v_j plus chance, with user factors x of unit covariance. Each step releases the users'
    second moment C and, for each item, the sum g_j of weight * residual * user factor, and sets

        V_j <- (1 - b) V_j + b (n_j I + ridge_j I)^-1 (g_j + n_j C V_j)

    which is the M-step of maximum likelihood: what users do not know of their own factors, I - C,
    is part of the normal matrix n_j I, so that neither side overfits by outgrowing the other. All
    items share C, because residuals are taken user by user. ridge_j follows from the noise that
    averaging over the steps leaves in g_j, and from the size that factors are expected to have.
    How large chance is, users tell in every step (contributions/chance.py), at a small price.

    What is None follows from public quantities (see `recipe`).

    rank: number of factors, of which the first is the user's level, alike for all items; 0 leaves
        them out, where they would drown in noise, and takes her mean for her level.
    steps: how often C and the sums are released.
    averaging: b. Below 1 every step's release counts, so that steps may be many and noisy.
    chance: first guess of the variance of a rating around its prediction, as a share of
        (width of the scale / 4)^2.
    explained: variance that all factors together explain, likewise.
    factor_bound: user factors longer than this times sqrt(rank) are cut to it.
    row_bound: a user's root mean square residual counts as at most this share of the width.
    offset_share, gram_share, chance_share: of mu^2, for offsets with counts, for C and for chance;
        the sums get the rest. With an offset_share of 0 ratings count from the middle of the scale,
        no factor is a level, and the counts get as much as C. With a chance_share of 0 the first
        guess of chance stays.
    seed: of the random factors it starts from; noise has no seed.
    gram: "shared", or "per-item" for a Gram matrix of each item: the same as `PerItem()`, whose
        options are those of the paper. None is "per-item" where there is no noise and room for it.
    start: an earlier model to begin from, whose offsets and factors are then what ridges pull to.
    feedback: "explicit" ratings, or "implicit": what users did, whatever the rating. None follows
        what the reader was told. `Implicit` has options; see it for what is done then.
    """

    rank: int | None = None
    steps: int = 16
    averaging: float | None = None
    chance: float = 0.7
    explained: float | None = None
    factor_bound: float = 0.8
    row_bound: float = 0.18
    offset_share: float | None = None
    gram_share: float = 0.01
    chance_share: float = 0.005
    seed: int = 0
    gram: Literal["shared", "per-item"] | PerItem | None = None
    feedback: Literal["explicit", "implicit"] | Implicit | None = None
    start: WarmStart | None = None

    def __post_init__(self) -> None:
        for name, least in (("rank", 0), ("steps", 1), ("seed", 0)):
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("chance", "explained", "factor_bound", "row_bound"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        if not isinstance(self.gram, PerItem) and self.gram not in {"shared", "per-item", None}:
            raise ValueError(f"gram must be 'shared', 'per-item' or a PerItem, got {self.gram!r}")
        check_feedback(self.feedback)
        check_start(self.start)
        self._check_shares()

    def _check_shares(self) -> None:
        for name in ("averaging", "gram_share"):
            if (value := getattr(self, name)) is not None and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        for name in ("offset_share", "chance_share"):
            if not 0 <= (value := getattr(self, name) or 0) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {value}")
        first = self.gram_share if self.offset_share == 0 else self.offset_share or 0
        if not first + self.gram_share + self.chance_share < 1:
            raise ValueError("offset_share + gram_share + chance_share must be below 1")

    def _per_item(self, public: Public) -> PerItem | None:
        """The options of a Gram matrix for each item, or None where all items share one."""
        if isinstance(self.gram, PerItem):
            return self.gram
        room = self.recipe(public).room_for_grams(public.n_items)
        own = self.gram == "per-item" or (
            self.gram is None and math.isinf(public.mu) and room <= MOST_GRAM_BYTES
        )
        return PerItem() if own else None

    def plan(self, public: Public) -> Plan:
        if implicit := implicit_of(self, public):
            return implicit.plan(self, public)
        if per_item := self._per_item(public):
            return per_item.plan(self, public)
        h = self.recipe(public)
        first = h.offset_steps.releases(public)
        if h.rank == 0:
            return Plan(first)
        fold = h.fold(np.zeros((public.n_items, h.rank)), Centring())
        question = self.question(h, Rows(public.width), fold)
        partners = {"gradient": "factors.gram"}
        return Plan(
            (
                *first,
                *priced(question, "factors", self.shares(h), times=self.steps, partners=partners),
            )
        )

    def fit(self, curator: Curator) -> FoldIn:
        public, plan = curator.public, curator.plan
        if implicit := implicit_of(self, public):
            return implicit.fit(self, curator)
        if per_item := self._per_item(public):
            return per_item.fit(self, curator)
        h = self.recipe(public)
        offsets = h.offset_steps.ask(curator, self.start)
        n, centring = offsets.counts, h.offset_steps.centring(public, offsets.values)
        V, home = h.begin(n, self.seed)
        if h.rank == 0:
            return h.fold(V, centring)
        # From here on the level is a factor, so it is found together with the others.
        centring = Centring(centring.offsets)
        rows = Rows(public.width, centring)
        for t in range(self.steps):
            question = self.question(h, rows, h.fold(V, centring))
            answer = curator.noisy_sum(question, "factors")
            C = unpacked(answer["gram"], h.rank) / public.n_users
            h = h.told(answer, plan, C, n)
            ridge = h.ridge(n, plan["factors.gradient"].std)
            g = answer["gradient"] + ridge[:, None] * home
            b = h.averaging if t or self.start else 1.0
            V = h.levelled((1 - b) * V + b * expected_step(n, C, g, V, ridge))
        return h.fold(V, centring)

    def shares(self, h: Recipe) -> dict[str, float]:
        """Of mu^2, for each part of what every step asks."""
        return {"gram": self.gram_share, "gradient": h.gradient_share, "chance": self.chance_share}

    def question(self, h: Recipe, rows: Rows, fold: FoldIn) -> GramAndGradient:
        """What every step asks the users."""
        return GramAndGradient(rows, UserFactors(fold, h.factor_bound), h.row_bound, h.chance_bound)

    def recipe(self, public: Public) -> Recipe:
        """Everything from public quantities, in the unit of the ratings.

        `strength` tells how many factors stand above the noise, and how much of the budget the
        offsets, which come first, should get.
        """
        share, offsets = self.offset_share, self.offset_share != 0
        rank = rank_of(self.start, public, self.rank, level=int(offsets))
        if share is None:
            share = float(np.clip(20 / strength(public), 0.15, 0.9))
        share = (share or self.gram_share) if rank else 1.0
        counts = COUNTS_OF_OFFSETS if offsets else 1.0
        unit = public.width / 4
        explained = self.explained or min(MOST_EXPLAINED, MOST_OF_A_FACTOR * max(rank, 1))
        return Recipe(
            rank=rank,
            averaging=self.averaging or (1.0 if math.isinf(public.mu) else 0.3),
            chance=Chance.of(self.chance * unit**2),
            factor_variance=explained * unit**2 / max(rank, 1),
            factor_bound=self.factor_bound * math.sqrt(max(rank, 1)),
            level=LEVEL * unit if offsets else None,
            row_bound=self.row_bound * public.width,
            offset_steps=OffsetSteps.usual(public, share, counts=counts),
            chance_bound=MOST_CHANCE * unit**2 if self.chance_share else None,
            gradient_share=1 - share - self.gram_share - self.chance_share,
            n_users=public.n_users,
            start=self.start,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `ALS.recipe` works out."""

    rank: int
    averaging: float
    chance: Chance
    factor_variance: float
    factor_bound: float
    level: float | None
    row_bound: float
    offset_steps: OffsetSteps
    chance_bound: float | None
    gradient_share: float
    n_users: int
    start: WarmStart | None

    def room_for_grams(self, n_items: int) -> int:
        """Bytes that the sums of a Gram matrix for each item take."""
        return 8 * n_items * triangle(self.rank)

    def told(
        self, answer: NoisySums, plan: Plan, C: NDArray[np.float64], n: NDArray[np.float64]
    ) -> Recipe:
        """With chance as a step's sums tell, where they were asked.

        Items fit chance, too: all of them together the share `fitted` of it, which is missing from
        what is left over. As large a share again is what their errors add to other ratings.
        """
        if self.chance_bound is None:
            return self
        noise = plan["factors.gradient"].std
        freedom = float(np.sum(n / (n + self.ridge(n, noise)))) * float(np.trace(C))
        fitted = min(max(freedom, 0.0) * self._weight(n) ** 2 / self.n_users, 0.5)
        times = (1 + fitted) / (1 - fitted) / self.n_users
        told, doubt = float(answer["chance"][0]), plan["factors.chance"].std
        return replace(self, chance=self.chance.after(told * times, doubt * times))

    def ridge(self, n: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
        """For each item the ridge that makes its step a posterior mean.

        The sums of an item hold chance of variance weight * chance for each unit of n_j, and the
        noise that averaging over steps leaves.
        """
        left = noise**2 * self.averaging / (2 - self.averaging)
        chance = self.chance.value * self._weight(n)
        ridge: NDArray[np.float64] = (chance + left / n) / self.factor_variance
        return ridge * self._hold(n)

    def _hold(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return hold(self.start, n, self.chance.value / self.factor_variance, self.n_users)

    def _weight(self, n: NDArray[np.float64]) -> float:
        """The weight of a user's rating, on average."""
        return self.n_users / float(n.sum())

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """How a user finds her own factors: their prior covariance is I."""
        return FoldIn(V.astype(np.float32), centring, ridge=self.chance.value)

    def begin(self, n: NDArray[np.float64], seed: int) -> Begun:
        """Item factors of about the expected size: random, or those of an earlier model."""
        rng = np.random.default_rng(seed)
        V = rng.standard_normal((len(n), self.rank)) * math.sqrt(self.factor_variance)
        V, home = begin(self.start, V, self._hold(n), level=int(self.level is not None))
        return self.levelled(V), home

    def levelled(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """V with its first column the same for all items, if that is a user's level."""
        if self.level is not None:
            V[:, :1] = self.level
        return V
