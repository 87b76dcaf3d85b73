# SPDX-License-Identifier: Apache-2.0
"""Private alternating least squares (Chien et al., 2021, Algorithm 1), with one shared Gram matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import GramAndGradient, Rows, UserFactors
from tacit.contributions.base import triangle
from tacit.folding import FoldIn
from tacit.solvers.offsets import OffsetSteps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.folding import Centring
    from tacit.mechanisms.curator import Curator

RANK_COST = 30.0
MOST_FACTORS = 32
DEFAULT_STEPS = 14
RIDGE = 200.0
OFFSET_STEPS = 4
OFFSET_ROW_BOUND = 0.25
START = 0.1


@dataclass(frozen=True, slots=True)
class ALS:
    """Users and items solve least-squares problems in turn; users by themselves, items from noisy sums.

    Item offsets come first (see `OffsetSteps`). Then each step releases the users' second moment C and
    for each item the weighted sum g_j of residual times user factor, and sets

        V_j <- (1 - b) V_j + b (n_j C + ridge I)^-1 (g_j + n_j C V_j)

    whose fixed point is the least-squares solution, although C is shared by all items: the residual is
    taken user by user with her own factor.

    Fields that are None follow from public quantities (`recipe`).

    rank: of the factors.
    steps: how often C and the sums are released.
    averaging: b; below 1 every step's release counts, so that steps may be many and noisy.
    user_ridge, item_ridge: of the two least-squares problems.
    factor_bound: longer user factors are cut to this norm.
    row_bound: a user's root mean square residual counts as at most this share of the scale's width.
    count_power: ratings weigh as the noisy count of their item to minus this power.
    offset_share, gram_share: of mu^2; counts get `count_share`, the sums of each step the rest.
    seed: of the first, random factors; not of the noise.
    """

    rank: int | None = None
    steps: int | None = None
    averaging: float = 0.3
    user_ridge: float = 2.0
    item_ridge: float | None = None
    factor_bound: float = 1.0
    row_bound: float = 0.18
    count_power: float = 0.25
    count_share: float = 0.04
    offset_share: float = 0.2
    gram_share: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rank", "steps"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("user_ridge", "item_ridge", "factor_bound", "row_bound"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("averaging", "count_share", "offset_share", "gram_share"):
            if not 0 < (value := getattr(self, name)) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        if not 0 <= self.count_power <= 1:
            raise ValueError(f"count_power must be between 0 and 1, got {self.count_power}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")
        if not self.count_share + self.offset_share + self.gram_share < 1:
            raise ValueError("count_share + offset_share + gram_share must be below 1")

    def plan(self, public: Public) -> Plan:
        h, bound = self.recipe(public), self.factor_bound
        r, T = h.rank, h.steps
        gram = Release.share(
            "factors.gram",
            l2=bound**2,
            share=self.gram_share,
            times=T,
            size=triangle(r),
            cone=True,
        )
        gradient = Release.share(
            "factors.gradient",
            l2=self.row_bound * public.width * bound,
            share=1 - self.count_share - self.offset_share - self.gram_share,
            times=T,
            size=public.n_items * r,
            partner="factors.gram",
        )
        return Plan((*self.offset_steps(public).releases(public), gram, gradient))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        h = self.recipe(public)
        first = self.offset_steps(public)
        offsets = first.ask(curator)
        centring = first.centring(public, offsets.values)
        n = weighted_counts(offsets.counts, self.count_power)
        rows = Rows(
            clip=public.width,
            centring=centring,
            noisy_counts=offsets.counts,
            power=self.count_power,
        )
        V = self.start(public, h.rank)
        for t in range(h.steps):
            users = UserFactors(self.fold(V, centring), self.factor_bound)
            question = GramAndGradient(rows, users, self.row_bound * public.width)
            answer = curator.noisy_sum(question, "factors")
            C = positive(unpacked(answer["gram"], h.rank)) / public.n_users
            V_new = solved(n, C, answer["gradient"], V, h.item_ridge)
            b = self.averaging if t else 1.0
            V = (1 - b) * V + b * V_new
        return self.fold(V, centring)

    def recipe(self, public: Public) -> Resolved:
        """Fill in what is None from public quantities.

        The factors' signal is a sum over n users, their noise grows with sqrt(m) / mu for m items:
        n mu / sqrt(m) tells how many factors stand above the noise, and how much to shrink them.
        """
        strength = public.n_users * public.mu / math.sqrt(public.n_items)
        rank = int(np.clip(strength / RANK_COST, 1, MOST_FACTORS))
        return Resolved(
            rank=min(self.rank or rank, public.n_items),
            steps=self.steps or DEFAULT_STEPS,
            item_ridge=self.item_ridge or float(np.clip(RIDGE / math.sqrt(strength), 3, 100)),
        )

    def offset_steps(self, public: Public) -> OffsetSteps:
        return OffsetSteps(
            count_share=self.count_share,
            sum_share=self.offset_share,
            steps=OFFSET_STEPS,
            row_bound=OFFSET_ROW_BOUND * public.width,
            mean_ridge=1.0,
        )

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """How a user finds her own factors."""
        return FoldIn(V.astype(np.float32), centring, ridge=self.user_ridge)

    def start(self, public: Public, rank: int) -> NDArray[np.float64]:
        """Random item factors, short enough that the first user factors are small."""
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal((public.n_items, rank)) * START / math.sqrt(rank)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What `ALS.recipe` fills in."""

    rank: int
    steps: int
    item_ridge: float


def weighted_counts(counts: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Counts of ratings that weigh as count^-power, from counts of ratings that weigh alike.

    Up to a factor, which the normalisation of each user's weights keeps near 1 in sum.
    """
    weighted = counts ** (1 - power)
    return weighted * (counts.sum() / weighted.sum())


def unpacked(triangle: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """The symmetric matrix of a packed upper triangle."""
    matrix = np.zeros((rank, rank))
    matrix[np.triu_indices(rank)] = triangle
    return matrix + np.triu(matrix, 1).T


def positive(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest matrix whose eigenvalues are at least a thousandth of the largest."""
    values, vectors = np.linalg.eigh(matrix)
    floor = 1e-3 * max(float(values[-1]), 1e-9)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def solved(
    n: NDArray[np.float64],
    C: NDArray[np.float64],
    g: NDArray[np.float64],
    V: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """(n_j C + ridge I)^-1 (g_j + n_j C V_j) for every item, in the eigenbasis that all share."""
    values, vectors = np.linalg.eigh(C)
    scale = n[:, None] * values
    return ((g @ vectors + scale * (V @ vectors)) / (scale + ridge)) @ vectors.T
