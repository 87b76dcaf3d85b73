# SPDX-License-Identifier: Apache-2.0
"""Private alternating least squares as published (Chien et al., 2021, Algorithm 1, loss 24).

Where it differs from the text: both releases of a step are paid for, K too; the mean is one of the
users' means; ratings are cut after they are centred; the users' normaliser is public; the spectral
start has the noise that a whole row needs. docs/algorithms/als.md shows the steps side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan
from tacit.contributions import Covariance, LeastSquares, SharedGram, UserFactors
from tacit.contributions.covariance import ROW_BITS
from tacit.folding import Centring, FoldIn
from tacit.solvers.item_solves import by_items, positive_part, solved, symmetric
from tacit.solvers.moments import leading
from tacit.solvers.normal_equations import unpacked
from tacit.solvers.preparation import Preparation
from tacit.solvers.pricing import priced
from tacit.solvers.warm_start import begin, rank_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.contributions import Rows
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.als import ALS
    from tacit.solvers.per_item import PerItem
    from tacit.solvers.preparation import Prepared


def plan(options: PerItem, als: ALS, public: Public) -> Plan:
    return _Loss.of(options, als, public).plan()


def fit(options: PerItem, als: ALS, curator: Curator) -> FoldIn:
    loss = _Loss.of(options, als, curator.public)
    prepared = loss.preparation.ask(curator, als.start)
    rows = replace(prepared.rows, centring=prepared.centring, clip=loss.clip)
    ridge = loss.item_ridges(prepared)
    V, _ = begin(als.start, loss.start(curator, rows, als.seed))
    V[~prepared.frequent] = 0
    for t in range(als.steps):
        users = UserFactors(loss.fold(V, prepared.centring), options.user_bound)
        answer = curator.noisy_sum(LeastSquares(rows, users), "factors")
        K = loss.penalty(curator, users)
        b = loss.averaging if t or als.start else 1.0
        step = loss.item_factors(answer["gram"], answer["rhs"], K, ridge)
        V = loss.in_basis((1 - b) * V + b * step)
        V[~prepared.frequent] = 0
    return loss.fold(V, prepared.centring)


@dataclass(frozen=True, slots=True)
class _Loss:
    """The loss with its public numbers, and each line of the algorithm."""

    options: PerItem
    preparation: Preparation
    public: Public
    ridge: float
    rank: int
    steps: int
    averaging: float

    @classmethod
    def of(cls, options: PerItem, als: ALS, public: Public) -> _Loss:
        if als.start and options.start == "spectral":
            raise ValueError("a spectral start is paid for and this model is there: take one")
        # No factor is a level here.
        als = replace(als, rank=rank_of(als.start, public, als.rank) or 1, start=None)
        h = als.recipe(public)
        counts = options.item_power > 0
        preparation = Preparation(options, h.offset_steps, public, counts_wanted=counts)
        ridge = options.ridge or 1.0
        averaging = als.averaging or 1.0
        return cls(options, preparation, public, ridge, h.rank, als.steps, averaging)

    @property
    def clip(self) -> float:
        """Gamma_M in the unit of the ratings."""
        return self.options.clip * self.public.width

    def plan(self) -> Plan:
        options, m = self.options, self.public.n_items
        releases = self.preparation.releases()
        rows = replace(self.preparation.all_rows, clip=self.clip)
        users = UserFactors(self.fold(np.zeros((m, self.rank)), Centring()), options.user_bound)
        if options.start == "spectral":
            releases += priced(self.moment(rows), "start", {"covariance": options.start_share})
        if options.unobserved > 0:
            share = {"gram": options.unobserved_share}
            releases += priced(SharedGram(users), "unobserved", share, times=self.steps)
        # A share of s has bound^2 / std^2 = s before calibration.
        left = 1 - math.fsum(release.mu_squared for release in releases)
        if not left > 1e-6:
            raise ValueError("the shares leave nothing for the steps: lower some of them")
        shares = {"gram": options.gram_part * left, "rhs": (1 - options.gram_part) * left}
        partner = {"rhs": "factors.gram"}
        question = LeastSquares(rows, users)
        steps = priced(question, "factors", shares, times=self.steps, partners=partner)
        return Plan((*releases, *steps))

    def fold(self, V: NDArray[np.float64], centring: Centring) -> FoldIn:
        """A_user: her ridge is lambda c^nu / Z with Z public; nothing is cut in serving."""
        options = self.options
        return FoldIn(
            V.astype(np.float32),
            centring,
            ridge=self.ridge / options.usual_ratings**options.user_power,
            ridge_power=options.user_power,
            unobserved=options.unobserved,
        )

    def item_ridges(self, prepared: Prepared) -> NDArray[np.float64]:
        """Each item's lambda c^mu / Z', with Z' the mean over the items that get factors."""
        powers = prepared.counts**self.options.item_power
        ridges: NDArray[np.float64] = self.ridge * powers / powers[prepared.frequent].mean()
        return ridges

    def penalty(self, curator: Curator, users: UserFactors) -> NDArray[np.float64]:
        """K = lambda_0 times the sum of u u^T over users: released, and charged, in each step."""
        if self.options.unobserved == 0:
            return np.zeros((self.rank, self.rank))
        gram = curator.noisy_sum(SharedGram(users), "unobserved")["gram"]
        return self.options.unobserved * unpacked(gram, self.rank)

    def item_factors(
        self,
        grams: NDArray[np.float64],
        sides: NDArray[np.float64],
        K: NDArray[np.float64],
        ridge: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """A_item: (ridge_j I + PSD(X_j + K))^-1 w_j for every item.

        The text projects with the ridge inside; outside of it no eigenvalue is below the ridge.
        """

        def work(some: slice) -> NDArray[np.float64]:
            X = symmetric(grams[some], self.rank) + K
            if self.options.projection == "psd":
                X = positive_part(X)
            return solved(X, ridge[some], sides[some])

        return by_items(work, len(sides), self.rank)

    def start(self, curator: Curator, rows: Rows, seed: int) -> NDArray[np.float64]:
        """V^0: random, or the top eigenvectors of a noisy second moment (Remark 2)."""
        m = self.public.n_items
        V = np.random.default_rng(seed).standard_normal((m, self.rank))
        if self.options.start == "spectral":
            noisy = curator.noisy_sum(self.moment(rows), "start")["covariance"]
            V = leading(unpacked(noisy, m), V.shape[1])[1] * math.sqrt(m)
        return V * self._size

    def moment(self, rows: Rows) -> Covariance:
        """A^T A of the centred ratings; a row of k of them weighs up to k Gamma_M^2, not one."""
        weights = rows.weight_grid(ROW_BITS)
        return Covariance(self.public.n_items, rows, weights.limit * weights.step * self.clip)

    def in_basis(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.options.basis == "free":
            return V
        return np.linalg.qr(V)[0] * math.sqrt(len(V)) * self._size

    @property
    def _size(self) -> float:
        """Deviation of the first factors."""
        return self.options.start_size * self.public.width / (4 * math.sqrt(self.rank))
