# SPDX-License-Identifier: Apache-2.0
"""Private start (Wang, Zhao, Kolar, 2023, Algorithm 2): item factors from what users rate alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Release
from tacit.contributions import Covariance, PowerProduct
from tacit.contributions.base import triangle
from tacit.solvers.moments import leading
from tacit.solvers.normal_equations import unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.contributions import Rows
    from tacit.mechanisms.curator import Curator

DENSE_ITEMS = 2000
PRODUCTS = 4  # with every direction, where the matrix is not released


@dataclass(frozen=True, slots=True)
class SpectralStart:
    """A = sum_i y_i y_i^T + noise over the users' weighted rows, and its top eigenpairs.

    In a catalogue of up to `DENSE_ITEMS` items A is released whole. In a larger one each direction
    takes `PRODUCTS` releases of A v, so that nothing larger than the item factors is ever held.

    share: of mu^2.
    row_bound: a user's root mean square target counts as at most this.
    """

    rank: int
    share: float
    row_bound: float

    def releases(self, public: Public) -> tuple[Release, ...]:
        m, l2 = public.n_items, self.row_bound**2
        if m <= DENSE_ITEMS:
            return (
                Release.share(
                    "start.covariance", l2=l2, share=self.share, size=triangle(m), cone=True
                ),
            )
        times = self.rank * PRODUCTS
        return (Release.share("start.product", l2=l2, share=self.share, times=times, size=m),)

    def ask(self, curator: Curator, rows: Rows, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Item factors V for which, with users' factors of equal second moment, U V^T is A's part.

        n are the items' weighted counts. A user who rates items j and l weighs 1 / (number of her
        ratings) in A_jl, so A_jl is about n_j n_l / users times the mean of y_j y_l: dividing by
        the counts takes the place of tau^2 / p^2. Where an item's count is below the noise it is
        not divided by.
        """
        public = curator.public
        if public.n_items <= DENSE_ITEMS:
            S, Q = self._dense(curator, rows)
        else:
            S, Q = self._products(curator, rows)
        least = np.sqrt(public.n_users * np.maximum(self._noise(curator), 1e-9)) / self.row_bound
        L = np.sqrt(public.n_users) * Q * np.sqrt(S) / np.maximum(n, least)[:, None]
        return balanced(L)

    def _noise(self, curator: Curator) -> float:
        """The noise of one number."""
        return max(release.std for release in curator.plan.releases if "start." in release.name)

    def _dense(self, curator: Curator, rows: Rows) -> tuple[NDArray[np.float64], ...]:
        m = curator.public.n_items
        question = Covariance(m, rows, self.row_bound)
        A = unpacked(curator.noisy_sum(question, "start")["covariance"], m)
        # One user's y_j^2 says nothing about two items that are rated alike.
        np.fill_diagonal(A, 0.0)
        S, Q = leading(A, self.rank)
        return np.maximum(S, 0.0), Q

    def _products(self, curator: Curator, rows: Rows) -> tuple[NDArray[np.float64], ...]:
        rng = np.random.default_rng(0)
        Q = np.zeros((curator.public.n_items, self.rank))
        S = np.zeros(self.rank)
        for k in range(self.rank):
            v = apart(rng.standard_normal(len(Q)), Q)
            for _ in range(PRODUCTS):
                question = PowerProduct(rows, self.row_bound, v)
                product = curator.noisy_sum(question, "start")["product"]
                S[k] = max(float(v @ product), 0.0)
                v = apart(product if product.any() else v, Q)
            Q[:, k] = v
        return S, Q


def apart(v: NDArray[np.float64], Q: NDArray[np.float64]) -> NDArray[np.float64]:
    """V without its part along the columns of Q, of length 1."""
    rest = v - Q @ (Q.T @ v)
    unit: NDArray[np.float64] = rest / np.linalg.norm(rest)
    return unit


def balanced(L: NDArray[np.float64]) -> NDArray[np.float64]:
    """V with V V^T = n (L L^T / n)^(1/2): users and items then have equal second moments."""
    values, P = np.linalg.eigh(L.T @ L / len(L))
    values = np.maximum(values, 1e-12 * max(float(values[-1]), 1e-300))
    V: NDArray[np.float64] = L @ P / values**0.25
    return V
