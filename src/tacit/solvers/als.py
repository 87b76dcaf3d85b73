# SPDX-License-Identifier: Apache-2.0
"""Private alternating least squares (Chien et al., 2021, Algorithm 1), with one shared Gram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import GramAndGradient, Rows, UserFactors
from tacit.contributions.base import triangle
from tacit.folding import Centring, FoldIn
from tacit.solvers.implicit import Implicit, check_feedback, implicit_of
from tacit.solvers.normal_equations import expected_step, unpacked
from tacit.solvers.offsets import OffsetSteps
from tacit.solvers.per_item import PerItem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator

MOST_FACTORS = 32
OFFSET_STEPS = 5
COUNTS_OF_OFFSETS = 0.15
LEVEL = 0.4  # deviation of users' levels, as a share of a quarter of the scale's width


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

    What is None follows from public quantities (see `recipe`).

    rank: number of factors, of which the first is the user's level, alike for all items; 0 leaves
        them out, where they would drown in noise, and takes her mean for her level.
    steps: how often C and the sums are released.
    averaging: b. Below 1 every step's release counts, so that steps may be many and noisy.
    chance: variance of a rating around its prediction, as a share of (width of the scale / 4)^2.
    explained: variance that all factors together explain, likewise.
    factor_bound: user factors longer than this times sqrt(rank) are cut to it.
    row_bound: a user's root mean square residual counts as at most this share of the width.
    offset_share, gram_share: of mu^2, for offsets with counts and for C; the sums get the rest.
        With an offset_share of 0 ratings count from the middle of the scale, no factor is a level,
        and the counts get as much as C.
    seed: of the random factors it starts from; noise has no seed.
    gram: "shared", or "per-item" for a Gram matrix of each item: the same as `PerItem()`, whose
        options are those of the paper.
    feedback: "explicit" ratings, or "implicit": what users did, whatever the rating. None follows
        what the reader was told. `Implicit` has options; see it for what is done then.
    """

    rank: int | None = None
    steps: int = 16
    averaging: float | None = None
    chance: float = 0.7
    explained: float = 0.2
    factor_bound: float = 0.8
    row_bound: float = 0.18
    offset_share: float | None = None
    gram_share: float = 0.01
    seed: int = 0
    gram: Literal["shared", "per-item"] | PerItem = "shared"
    feedback: Literal["explicit", "implicit"] | Implicit | None = None

    def __post_init__(self) -> None:
        for name, least in (("rank", 0), ("steps", 1), ("seed", 0)):
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("chance", "explained", "factor_bound", "row_bound"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("averaging", "gram_share"):
            if (value := getattr(self, name)) is not None and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        if not 0 <= (self.offset_share or 0) < math.inf:
            raise ValueError(f"offset_share must be at least 0, got {self.offset_share}")
        if not max(self.offset_share or 0, self.gram_share) + self.gram_share < 1:
            raise ValueError("offset_share + gram_share must be below 1")
        check_feedback(self.feedback)
        if not isinstance(self.gram, PerItem) and self.gram not in {"shared", "per-item"}:
            raise ValueError(f"gram must be 'shared', 'per-item' or a PerItem, got {self.gram!r}")

    @property
    def _per_item(self) -> PerItem | None:
        return (
            PerItem() if self.gram == "per-item" else None if self.gram == "shared" else self.gram
        )

    def plan(self, public: Public) -> Plan:
        if implicit := implicit_of(self, public):
            return implicit.plan(self, public)
        if self._per_item:
            return self._per_item.plan(self, public)
        h = self.recipe(public)
        first = h.offset_steps.releases(public)
        if h.rank == 0:
            return Plan(first)
        gram = Release.share(
            "factors.gram",
            l2=h.factor_bound**2,
            share=self.gram_share,
            times=self.steps,
            size=triangle(h.rank),
            cone=True,
        )
        gradient = Release.share(
            "factors.gradient",
            l2=h.row_bound * h.factor_bound,
            share=h.gradient_share,
            times=self.steps,
            size=public.n_items * h.rank,
            partner="factors.gram",
        )
        return Plan((*first, gram, gradient))

    def fit(self, curator: Curator) -> FoldIn:
        if implicit := implicit_of(self, curator.public):
            return implicit.fit(self, curator)
        if self._per_item:
            return self._per_item.fit(self, curator)
        public = curator.public
        h = self.recipe(public)
        offsets = h.offset_steps.ask(curator)
        n, centring = offsets.counts, h.offset_steps.centring(public, offsets.values)
        V = h.start(public, self.seed)
        if h.rank == 0:
            return h.fold(V, centring)
        # From here on the level is a factor, so it is found together with the others.
        centring = Centring(centring.offsets)
        rows = Rows(public.width, centring)
        for t in range(self.steps):
            users = UserFactors(h.fold(V, centring), h.factor_bound)
            question = GramAndGradient(rows, users, h.row_bound)
            answer = curator.noisy_sum(question, "factors")
            C = unpacked(answer["gram"], h.rank) / public.n_users
            ridge = h.ridge(n, curator.plan["factors.gradient"].std, public)
            b = h.averaging if t else 1.0
            V = h.levelled((1 - b) * V + b * expected_step(n, C, answer["gradient"], V, ridge))
        return h.fold(V, centring)

    def recipe(self, public: Public) -> Recipe:
        """Everything from public quantities, in the unit of the ratings.

        The signal of a factor is a sum over n users, its noise grows with sqrt(m) / mu for m items:
        n mu / sqrt(m) tells how many factors stand above the noise, and how much of the budget
        the offsets, which come first, should get.
        """
        strength = public.n_users * public.mu / math.sqrt(public.n_items)
        rank = round(min(MOST_FACTORS, 0.65 * math.sqrt(strength))) if strength >= 40 else 0
        rank = min(rank if self.rank is None else self.rank, public.n_items)
        share, offsets = self.offset_share, self.offset_share != 0
        if share is None:
            share = float(np.clip(32 / strength, 0.18, 0.9))
        share = (share or self.gram_share) if rank else 1.0
        counts = COUNTS_OF_OFFSETS if offsets else 1.0
        unit = public.width / 4
        return Recipe(
            rank=rank,
            averaging=self.averaging or (1.0 if math.isinf(public.mu) else 0.3),
            chance=self.chance * unit**2,
            factor_variance=self.explained * unit**2 / max(rank, 1),
            factor_bound=self.factor_bound * math.sqrt(max(rank, 1)),
            level=LEVEL * unit if offsets else None,
            row_bound=self.row_bound * public.width,
            offset_steps=OffsetSteps(
                count_share=share * counts,
                sum_share=share * (1 - counts),
                steps=OFFSET_STEPS,
                row_bound=unit,
                mean_ridge=1.0,
            ),
            gradient_share=1 - share - self.gram_share,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `ALS.recipe` works out."""

    rank: int
    averaging: float
    chance: float
    factor_variance: float
    factor_bound: float
    level: float | None
    row_bound: float
    offset_steps: OffsetSteps
    gradient_share: float

    def ridge(self, n: NDArray[np.float64], noise: float, public: Public) -> NDArray[np.float64]:
        """For each item the ridge that makes its step a posterior mean.

        The sums of an item hold chance of variance weight * chance for each unit of n_j, and the
        noise that averaging over steps leaves.
        """
        weight = public.n_users / n.sum()
        left = noise**2 * self.averaging / (2 - self.averaging)
        ridge: NDArray[np.float64] = (self.chance * weight + left / n) / self.factor_variance
        return ridge

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """How a user finds her own factors: their prior covariance is I."""
        return FoldIn(V.astype(np.float32), centring, ridge=self.chance)

    def start(self, public: Public, seed: int) -> NDArray[np.float64]:
        """Random item factors of about the expected size."""
        rng = np.random.default_rng(seed)
        size = math.sqrt(self.factor_variance)
        return self.levelled(rng.standard_normal((public.n_items, self.rank)) * size)

    def levelled(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """V with its first column the same for all items, if that is a user's level."""
        if self.level is not None:
            V[:, :1] = self.level
        return V
