# SPDX-License-Identifier: Apache-2.0
"""What `ALS` does with implicit feedback: alternating least squares on rows of all items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, Rows, SeenProducts
from tacit.folding import Centring, FoldIn
from tacit.solvers.averaged_factors import AveragedFactors
from tacit.solvers.strength import strength
from tacit.user_steps import SeenProjection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.als import ALS

MOST_FACTORS = 128
# Without noise factors are not cut: hardly any is longer than this times sqrt(rank).
LONGEST = 4.0
# By so much of a seen item's 1 the most popular item is ranked above one that nobody has seen.
POPULARITY = 1e-4


@dataclass(frozen=True, slots=True)
class Implicit:
    """Implicit feedback for `ALS(feedback=...)`; "implicit" means `Implicit()`.

    A user's row s has one entry for every item: 0 for what she has not seen, else in proportion to
    count^-weight_power of released counts, divided by the norm of the row. s is x . v_j plus
    chance, all pairs weighing alike, so that both halves of alternating least squares have one
    matrix for everybody and need one release in each step, the sum P of s_j x over users:

        x   <- (V^T V + what noise leaves unknown of it)^-1 V^T s, at the user
        V_j <- C^-1 P_j with C = the users' second moment, which follows from P
        V   <- posterior mean given the average of the steps so far and its noise

    Without noise this finds the best approximation of rank r of all rows (their truncated SVD).
    At the end the diagonal of the items' second moment is taken out, as far as the counts tell it:
    that an item goes with itself recommends nothing else. What she sees next is then predicted by
    the factors that are left.

    The rating of what she has seen says nothing more, unless count_weight is above 0. Ratings of 0
    and less count as not seen.

    Of the fields of `ALS` these have a meaning here: rank (at least 1), steps, averaging (without
    it every step counts, the later the more), factor_bound, seed.

    A lighter weight of what was not seen is part of the papers' loss: `ALS(gram=PerItem(ridge=...,
    centring="none", unobserved=...))`.

    count_weight, most: of how often she did it, t, an entry gets min(1 + count_weight t, most).
    weight_power: None follows from public quantities, as the rank does: the less noise, the more
        weight for rare items.
    diagonal: "kept" leaves out the last step, with the truncated SVD for a result.
    count_share: of mu^2, for the counts; P gets the rest, evenly over the steps.
    """

    count_weight: float = 0.0
    most: float = 10.0
    weight_power: float | None = None
    diagonal: Literal["removed", "kept"] = "removed"
    count_share: float = 0.03

    def __post_init__(self) -> None:
        SeenProjection(self.count_weight, self.most)  # checks them
        if self.weight_power is not None and not 0 <= self.weight_power <= 1:
            raise ValueError(f"weight_power must be in 0..1, got {self.weight_power}")
        if self.diagonal not in {"removed", "kept"}:
            raise ValueError(f"diagonal must be 'removed' or 'kept', got {self.diagonal!r}")
        if not 0 < self.count_share < 1:
            raise ValueError(f"count_share must be between 0 and 1, got {self.count_share}")

    def plan(self, als: ALS, public: Public) -> Plan:
        h = self.recipe(als, public)
        m, left = public.n_items, 1 - self.count_share
        return Plan(
            (
                Release.share("counts.count", l2=1.0, share=self.count_share, size=m, cone=True),
                Release.share(
                    "factors.product", l2=h.bound, share=left, times=als.steps, size=m * h.rank
                ),
            )
        )

    def fit(self, als: ALS, curator: Curator) -> FoldIn:
        public, plan = curator.public, curator.plan
        h = self.recipe(als, public)
        noisy = curator.noisy_sum(ItemCounts(public.n_items, Rows()), "counts")["count"]
        counts = np.maximum(noisy, max(plan["counts.count"].std, 1e-3))
        users = Users(self, counts, (counts / counts.max()) ** -h.weight_power)
        size = counts / counts.max() * users.weights
        V = AveragedFactors.start(size / np.linalg.norm(size), h.rank, als.seed)
        for _ in range(als.steps):
            question = SeenProducts(users.facing(V.directions), h.bound)
            P = curator.noisy_sum(question, "factors")["product"] / public.n_users
            V = V.after(P, plan["factors.product"].std / public.n_users, h.averaging)
        return users.facing(V.balanced(self._own(users, h)))

    def _own(self, users: Users, h: Recipe) -> NDArray[np.float64]:
        """For each item what it adds to its own second moment per user, as far as counts tell.

        All items together add 1, the squared norm of a row. Factors whose second moment is I have
        squared norm rank; where they are cut to the bound, answers hold bound^2 / rank of it.
        """
        own = users.counts * users.weights**2
        cut = min(1.0, h.bound**2 / h.rank) if self.diagonal == "removed" else 0.0
        scaled: NDArray[np.float64] = own / own.sum() * cut
        return scaled

    def recipe(self, als: ALS, public: Public) -> Recipe:
        """How many factors stand above noise follows from n mu / sqrt(m), above chance from n.

        m factors would be no model at all: every row would be its own prediction.
        """
        if als.start:
            raise ValueError("ALS takes no start for implicit feedback: its users do another step")
        n, m = public.n_users, public.n_items
        s = strength(public)
        found = round(min(0.4 * s**0.75, 1.25 * math.sqrt(n), m / 4, MOST_FACTORS))
        rank = max(min(found if als.rank is None else als.rank, m), 1)
        private = math.isfinite(public.mu)
        power = self.weight_power
        if power is None:
            power = float(np.clip(math.log2(min(s, 1e9) / 46) / 10, 0, 0.4))
        return Recipe(
            rank=rank,
            averaging=als.averaging if private else als.averaging or 1.0,
            bound=(als.factor_bound if private else LONGEST) * math.sqrt(rank),
            weight_power=power,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `Implicit.recipe` works out."""

    rank: int
    averaging: float | None
    bound: float
    weight_power: float


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """How users find their factors: the weights of the items are public from the counts on."""

    options: Implicit
    counts: NDArray[np.float64]
    weights: NDArray[np.float64]

    def facing(self, directions: NDArray[np.float64]) -> FoldIn:
        """X is her row, not divided by its norm, times these directions.

        The score of an item is then x . direction / weight: for directions V M^-1/2 with
        M = V^T V it is what the model expects of her entry, in units of that of a seen item.
        """
        table = np.column_stack([directions / self.weights[:, None], self.weights])
        offsets = POPULARITY * self.counts / self.counts.max()
        step = SeenProjection(self.options.count_weight, self.options.most)
        return FoldIn(table.astype(np.float32), Centring(offsets), step=step)


def check_feedback(feedback: object) -> None:
    """Refuse what `ALS` cannot take as its field of that name."""
    if not isinstance(feedback, Implicit) and feedback not in {None, "explicit", "implicit"}:
        raise ValueError(f"feedback must be 'explicit' or 'implicit', got {feedback!r}")


def implicit_of(als: ALS, public: Public) -> Implicit | None:
    """The options for implicit feedback; None where it is explicit, or left to the papers' loss."""
    feedback = public.feedback if als.feedback is None else als.feedback
    if feedback == "explicit":
        return None
    if als.gram is None or als.gram == "shared":
        return Implicit() if isinstance(feedback, str) else feedback
    if als.gram == "per-item" or als.gram.ridge is None or als.gram.centring != "none":
        raise ValueError(
            "implicit feedback goes with gram='shared', or with the loss of the papers and no "
            "centring: gram=PerItem(ridge=..., centring='none', unobserved=...)"
        )
    return None
