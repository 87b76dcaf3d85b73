# SPDX-License-Identifier: Apache-2.0
"""The leading direction of the users' second moment, from noisy sums: all pairs, or Oja's steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import Covariance, PowerProduct
from tacit.contributions.base import triangle
from tacit.solvers.moments import leading
from tacit.solvers.normal_equations import unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.rows import RowPolicy
    from tacit.mechanisms.curator import Curator

# All pairs of 4,000 items are 8 million numbers a release: 64 MB for each thread.
MOST_PAIRED = 4_000


@dataclass(frozen=True, slots=True)
class Dense:
    """The top eigenpair of W + N, items x items, for rows cut to `bound`.

    N is symmetric and equally noisy in every direction, which is all that matters of the paper's
    matrix of independent entries: its other half sees no data.
    """

    name: str
    bound: float

    def releases(self, share: float, times: int, n_items: int) -> tuple[Release, ...]:
        check_pairs(n_items, "; direction='oja' takes memory linear in the items")
        l2, size = self.bound**2, triangle(n_items)
        name = f"{self.name}.covariance"
        return (Release.share(name, l2=l2, share=share, times=times, size=size, cone=True),)

    def noise(self, plan: Plan) -> float:
        """Standard deviation of an entry of the diagonal."""
        return plan[f"{self.name}.covariance"].std

    def noise_of_product(self, plan: Plan) -> float:
        """Standard deviation of an entry of N v, for a v of many items."""
        return self.noise(plan) / math.sqrt(2)

    def matrix(self, curator: Curator, rows: RowPolicy) -> NDArray[np.float64]:
        """W + N."""
        n = curator.public.n_items
        answer = curator.noisy_sum(Covariance(n, rows, self.bound), self.name)
        return unpacked(answer["covariance"], n)

    def ask(
        self,
        curator: Curator,
        rows: RowPolicy,
        _: np.random.Generator,
        near: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """The direction; `near`, if that is given, counts as much as the noise."""
        W = self.matrix(curator, rows)
        if near is not None:
            W += self.noise_of_product(curator.plan) * math.sqrt(len(W)) * np.outer(near, near)
        return leading(W, 1)[1][:, 0]


@dataclass(frozen=True, slots=True)
class Oja:
    """Private Oja (Jain, Thakkar and Thakurta, 2018, Algorithm 2); memory is linear in the items.

    v <- v + eta (A^T A v + g), v <- v / ||v||, with eta = 1 / (sigma sqrt(items)); the first line
    is divided by eta here, so that without noise this is the power method. (The paper's eta is
    `steps` times smaller, and so few products then leave too much of the start.)

    along: a user's part of a direction is cut to this share of `bound`; see `PowerProduct`.
    """

    name: str
    bound: float
    steps: int
    along: float = 1.0

    def releases(self, share: float, times: int, n_items: int) -> tuple[Release, ...]:
        l2, name = self.along * self.bound**2, f"{self.name}.product"
        return (Release.share(name, l2=l2, share=share, times=self.steps * times, size=n_items),)

    def noise_of_product(self, plan: Plan) -> float:
        """Standard deviation of an entry of a product."""
        return plan[f"{self.name}.product"].std

    def ask(
        self,
        curator: Curator,
        rows: RowPolicy,
        rng: np.random.Generator,
        near: NDArray[np.float64] | None = None,
        beside: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """At right angles to the columns of `beside`, if there are any.

        From a random start, half way to `near` if that is given: of a matrix that has changed
        little, the direction has too, and few products find it.
        """
        n = curator.public.n_items
        damping = self.noise_of_product(curator.plan) * math.sqrt(n)  # 1 / eta
        v = start(rng, n, beside)
        v = v if near is None else unit(v + near, v)
        for _ in range(self.steps):
            question = PowerProduct(rows, self.bound, v, self.along)
            product = curator.noisy_sum(question, self.name)["product"]
            v = unit(apart(damping * v + product, beside), v)
        return v


def check_pairs(n_items: int, otherwise: str = "") -> None:
    """Refuse a dense covariance of a large catalogue."""
    if n_items > MOST_PAIRED:
        raise ValueError(
            f"a dense covariance holds a number for every pair of items: {MOST_PAIRED} items are "
            f"the most, there are {n_items}{otherwise}"
        )


def start(
    rng: np.random.Generator, n_items: int, beside: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Uniform on the sphere: the bound of a product is that of a vector of length 1."""
    axis = np.zeros(n_items)
    axis[0] = 1.0
    return unit(apart(rng.standard_normal(n_items), beside), axis)


def apart(v: NDArray[np.float64], beside: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """V less its part along these orthonormal columns."""
    return v if beside is None else v - beside @ (beside.T @ v)


def unit(v: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """V / ||v||, where v has a length."""
    norm = float(np.linalg.norm(v))
    return v / norm if norm > 0 else otherwise
