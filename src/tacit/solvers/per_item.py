# SPDX-License-Identifier: Apache-2.0
"""What `ALS` can be told when every item has a Gram matrix of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from tacit.solvers import item_likelihood, item_loss

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.folding import FoldIn
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.als import ALS

# Options that have a meaning in the loss of the papers only.
_OF_THE_LOSS = {
    *("sampling", "items_per_user", "centring", "item_power", "user_power", "usual_ratings"),
    *("unobserved", "user_bound", "clip", "projection", "basis", "start", "start_size"),
    *("mean_share", "gram_part", "unobserved_share", "start_share"),
}

MOST_NUMBERS = 1 << 31
"""In one sum; each thread holds all of them, with 8 bytes each."""


@dataclass(frozen=True, slots=True)
class PerItem:
    """A Gram matrix for each item, as `ALS(gram=PerItem(...))`; "per-item" means `PerItem()`.

    With `ridge=None` items follow maximum likelihood as with a shared Gram matrix (see
    solvers/item_likelihood.py). A number is lambda of the papers' loss (24), which is then
    minimised on centred ratings (see solvers/item_loss.py) with all the options below. Letters are
    those of Chien et al., 2021. Everything here is public; nothing is taken from the ratings.

    ridge: lambda, of users and of items.
    sampling: what bounds a user's part in the sums. "weights" takes all her ratings, with weights
        proportional to the item's noisy count ^ -weight_power whose squares sum to 1; "rarest"
        takes the k items of fewest noisy counts, "uniform" a choice that looks random, with
        weights of 1.
    items_per_user: k.
    weight_power: see sampling; 0 makes a user's weights equal.
    frequent: beta; only the ceil(beta m) items of largest noisy counts get factors.
    centring: "user" takes released item offsets (`OffsetSteps`) and a user's own mean off, "global"
        a noisy mean over users of their mean ratings, "none" nothing.
    item_power, user_power: mu and nu, exponents of counts in the ridges. Items divide by the mean
        of the released counts ^ mu, users by usual_ratings ^ nu, which is public.
    unobserved: lambda_0, weight of a target of zero for every pair. Its matrix K is released.
    user_bound: Gamma_u, what the norm of a user's factors is cut to.
    clip: Gamma_M, what a centred rating is cut to, as a share of the scale's width.
    projection: "psd" replaces negative eigenvalues of an item's noisy Gram matrix by 0.
    basis: "orthonormal" makes the columns of the item factors orthogonal after every step, of the
        length that they start with.
    start: "random" factors, or the "spectral" ones of a released second moment (Remark 2).
    start_size: deviation of the first factors, as a share of width / (4 sqrt(rank)).
    mean_share, count_share, start_share, unobserved_share: of mu^2, for the noisy mean, for each
        of the noisy counts, for the spectral start and for K; steps get what is left of it.
    gram_part: of what steps get, for the Gram matrices; the right-hand sides get the rest.
    """

    ridge: float | None = None
    sampling: Literal["weights", "rarest", "uniform"] = "weights"
    items_per_user: int = 50
    weight_power: float = 0.0
    frequent: float = 1.0
    centring: Literal["user", "global", "none"] = "user"
    item_power: float = 0.0
    user_power: float = 0.0
    usual_ratings: float = 100.0
    unobserved: float = 0.0
    user_bound: float = 1.0
    clip: float = 0.6
    projection: Literal["psd", "none"] = "psd"
    basis: Literal["free", "orthonormal"] = "free"
    start: Literal["random", "spectral"] = "random"
    start_size: float = 1.0
    mean_share: float = 0.01
    count_share: float = 0.05
    gram_part: float = 0.2
    unobserved_share: float = 0.1
    start_share: float = 0.1

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_numbers()
        if self.ridge is None:
            given = [
                each.name
                for each in fields(self)
                if each.name in _OF_THE_LOSS and getattr(self, each.name) != each.default
            ]
            if given:
                raise ValueError(f"{given[0]} belongs to the loss that `ridge` starts: give ridge=")

    def _check_choices(self) -> None:
        for name, known in (
            ("sampling", ("weights", "rarest", "uniform")),
            ("centring", ("user", "global", "none")),
            ("projection", ("psd", "none")),
            ("basis", ("free", "orthonormal")),
            ("start", ("random", "spectral")),
        ):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")

    def _check_numbers(self) -> None:
        for name in ("ridge", "usual_ratings", "user_bound", "clip", "start_size"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        for name in ("weight_power", "item_power", "user_power", "unobserved"):
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {value}")
        if not 1 <= self.items_per_user < 1 << 24:
            raise ValueError(f"items_per_user must be in 1..2^24 - 1, got {self.items_per_user}")
        if not 0 < self.frequent <= 1:
            raise ValueError(f"frequent must be above 0 and at most 1, got {self.frequent}")
        for name in ("mean_share", "count_share", "gram_part", "unobserved_share", "start_share"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be between 0 and 1, got {value}")

    def plan(self, als: ALS, public: Public) -> Plan:
        """Every release, as `ALS.plan`."""
        of = item_likelihood if self.ridge is None else item_loss
        plan: Plan = of.plan(self, als, public)
        if (most := max(release.size for release in plan.releases)) > MOST_NUMBERS:
            raise ValueError(
                f"a Gram matrix for each of {public.n_items} items has {most} numbers, "
                f"{8 * most / 2**30:.0f} GiB for every thread: take gram='shared', or a lower rank"
            )
        return plan

    def fit(self, als: ALS, curator: Curator) -> FoldIn:
        """Train, as `ALS.fit`."""
        if self.ridge is None:
            return item_likelihood.fit(self, als, curator)
        return item_loss.fit(self, als, curator)
