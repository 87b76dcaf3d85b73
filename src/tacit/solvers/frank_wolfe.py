# SPDX-License-Identifier: Apache-2.0
"""Private Frank-Wolfe (Jain, Thakkar and Thakurta, 2018, Algorithms 1 and 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import PowerEnergy, Residuals
from tacit.folding import FoldIn
from tacit.solvers.directions import Dense, Oja
from tacit.solvers.start import Start
from tacit.user_steps import FrankWolfeReplay

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator

EXPLAINED = 0.2
ENERGY_SHARE = 0.05  # of a direction's mu^2: one number, whose noise is small beside a product's
ENERGY_ALONG = 0.5  # half a row's bound: one with ratings of a quarter of the items is not longer
DENSE_UP_TO = 1_000  # items; beyond, Oja's method is the default


@dataclass(frozen=True, slots=True)
class FrankWolfe:
    """Y = sum of rank-one steps, each along a released direction v, of nuclear norm at most k.

    The curator releases the top direction of the users' residuals A = P(Y - Y*) with its singular
    value lambda; each user moves her own row, Y_i <- Pi_L((1 - 1/T) Y_i - (k/T) (A_i . v / lambda)
    v), and nobody else ever sees it. Item offsets come first (see `OffsetSteps`); Y* is what is
    left of the ratings, and a user's row of it is shortened to L.

    steps: T. The first one only looks, so there are T - 1 directions.
    nuclear_norm: k, relative to a rank-one matrix whose users' rated parts are all L long.
    row_bound: L, as a share of the width of the scale.
    residual_bound: rows of A are cut to this times L; 2 never cuts, as in the paper, where they
        weigh four times as much.
    direction: "dense" releases a noisy number for every pair of items, "oja" (Algorithm 2) one for
        every item, several times. By default dense up to 1,000 items.
    oja_steps: Gamma, how many products Oja's method releases for one direction.
    alignment: of a row's squared bound, at most this share counts along one direction in Oja's
        products, where there is noise; 1 never cuts, as in the paper, where they get three times
        the noise. Five products are then as noisy as the dense matrix.
    failure: beta, the chance that the noise hides more of lambda than is added to it.
    offset_share: of mu^2, for counts and item offsets; 0 leaves them out.
    users: how users predict in the end: "replay" is the paper's Y_i, "least-squares" fits the
        directions to their own ratings.
    seed: of the vectors that Oja's method starts from; noise has no seed.
    """

    steps: int = 8
    nuclear_norm: float = 1.0
    row_bound: float = 1.0
    residual_bound: float = 1.0
    direction: Literal["dense", "oja"] | None = None
    oja_steps: int = 5
    alignment: float = 0.1
    failure: float = 0.05
    offset_share: float = 0.3
    users: Literal["replay", "least-squares"] = "replay"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 2), ("oja_steps", 1), ("seed", 0)):
            if not least <= (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("nuclear_norm", "row_bound"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value}")
        if not 0 < self.residual_bound <= 2:
            raise ValueError(
                f"residual_bound must be above 0 and at most 2, got {self.residual_bound}"
            )
        if not 0 < self.alignment <= 1:
            raise ValueError(f"alignment must be above 0 and at most 1, got {self.alignment}")
        if self.direction not in {"dense", "oja", None}:
            raise ValueError(f"direction must be 'dense' or 'oja', got {self.direction!r}")
        if self.users not in {"replay", "least-squares"}:
            raise ValueError(f"users must be 'replay' or 'least-squares', got {self.users!r}")
        if not 0 < self.failure <= 1:
            raise ValueError(f"failure must be above 0 and at most 1, got {self.failure}")
        Start(self.offset_share)  # checks it

    def plan(self, public: Public) -> Plan:
        each = (1 - self.offset_share) / (self.steps - 1)
        releases = Start(self.offset_share).releases(public)
        for name, times in (("first", 1), ("steps", self.steps - 2)):
            if times:
                share, top = each * times, self._top(name, public)
                l2 = (self._along(public, ENERGY_ALONG) * top.bound) ** 2
                releases += (
                    *top.releases((1 - ENERGY_SHARE) * share, times, public.n_items),
                    Release.share(
                        f"{name}.energy", l2=l2, share=ENERGY_SHARE * share, times=times, cone=True
                    ),
                )
        return Plan(releases)

    def fit(self, curator: Curator) -> FoldIn:
        public, T = curator.public, self.steps
        m, n, L = public.n_users, public.n_items, self.row_bound * public.width
        centring, per_user = Start(self.offset_share).ask(curator)
        k = self.nuclear_norm * L * math.sqrt(m * n / per_user)
        rng = np.random.default_rng(self.seed)
        V, Y, v = np.zeros((n, 0), np.float32), FrankWolfeReplay(L, keep=1 - 1 / T), None
        for t in range(1, T):
            A = Residuals(FoldIn(V, centring, step=Y))
            top = self._top("first" if t == 1 else "steps", public)
            v = top.ask(curator, A, rng, near=v)
            question = PowerEnergy(A, top.bound, v, self._along(public, ENERGY_ALONG))
            energy = float(curator.noisy_sum(question, top.name)["energy"][0])
            # What the noise may hide of lambda is added to it, so that no step is too long.
            sigma = top.noise_of_product(curator.plan)
            hidden = math.sqrt(sigma * math.sqrt(n) * math.log(n / self.failure))
            singular = math.sqrt(max(energy, 0.0)) + hidden
            V = np.column_stack([V, v.astype(np.float32)])
            pull = k / (T * singular) if singular > 0 else 0.0
            Y = replace(Y, pulls=(*Y.pulls, pull))
        if self.users == "replay":
            return FoldIn(V, centring, step=Y)
        # Factors of unit variance then explain a fifth of (width / 4)^2, and chance the rest.
        size = math.sqrt(EXPLAINED * n / V.shape[1])
        return FoldIn(
            (size * V).astype(np.float32) * np.float32(public.width / 4),
            centring,
            ridge=(1 - EXPLAINED) * (public.width / 4) ** 2,
        )

    def _top(self, name: str, public: Public) -> Dense | Oja:
        """How the top direction is asked for, and the bound of a row."""
        bound = self.row_bound * public.width * (1 if name == "first" else self.residual_bound)
        dense = (
            public.n_items <= DENSE_UP_TO if self.direction is None else self.direction == "dense"
        )
        if dense:
            return Dense(name, bound)
        return Oja(name, bound, self.oja_steps, self._along(public))

    def _along(self, public: Public, least: float = 0.0) -> float:
        """The share of a row's bound that counts along a direction, but at least this."""
        return 1.0 if math.isinf(public.mu) else max(math.sqrt(self.alignment), least)
