# SPDX-License-Identifier: Apache-2.0
"""One sample of item factors from a tempered posterior (Liu et al., 2015, Algorithm 1), by a chain.

The density is exp(-F / temperature) on the factors whose products all lie within reach, where F is
each user's weighted squared errors and a ridge, summed. If the sample were exact, its privacy would
follow from a user's loss being bounded (proofs/posterior.md). It is the end of a Gibbs chain: each
user draws her factors given V, then each item proposes its own given those, and keeps it if all
products stay within reach. Both steps leave the density as it is; how near it the chain has come
nobody checks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from tacit.bounding import item_limit
from tacit.contributions.base import Contribution, triangle
from tacit.mechanisms.entropy import keyed_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.contributions.base import Part, Sums
    from tacit.data.block import UserBlock
    from tacit.mechanisms.entropy import NoiseSource

KEY_BYTES = 32
MOST_TRIES = 200
FIRST_SIZE = 0.1  # deviation of the first item factors: most products are then within reach


class NothingInRangeError(RuntimeError):
    """None of many draws of a user's factors kept all of her products within reach."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is sampled; every field is public.

    trim: at most so many ratings of each user enter, chosen as if at random.
    margin: kappa; predictions are kept within the scale and this much beyond either end.
    most_weight: the most that a rating can weigh; light users' ratings weigh up to this.
    ridge: lambda, of all factors.
    first: item factors to begin with; random where they are NaN.
    """

    n_items: int
    rank: int
    low: float
    high: float
    trim: int
    margin: float
    most_weight: float
    ridge: float
    first: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    @property
    def middle(self) -> float:
        """What a prediction of zero stands for."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> float:
        """How far from the middle a prediction may lie."""
        return (self.high - self.low) / 2 + self.margin

    @property
    def largest_error(self) -> float:
        """Squared, of a rating on the scale and a prediction within reach."""
        return (self.high - self.low + self.margin) ** 2

    @property
    def loss_bound(self) -> float:
        """B: the most that all ratings of one user can add to F."""
        return self.trim * self.largest_error

    def weights(self, block: UserBlock) -> NDArray[np.float64]:
        """For each user what each of her (trimmed) ratings weighs: local, so that B is public."""
        sizes = np.maximum(np.diff(block.indptr), 1)
        weights = np.minimum(self.most_weight, self.loss_bound / (sizes * self.largest_error))
        levels = 1.0 if block.levels is None else block.levels.astype(np.float64)
        return np.asarray(weights * levels, np.float64)

    def trimmed(self, block: UserBlock) -> UserBlock:
        """The ratings that enter, as differences from the middle; none is off the scale."""
        half = np.float32((self.high - self.low) / 2)
        errors = np.clip(np.nan_to_num(block.values) - np.float32(self.middle), -half, half)
        return item_limit.uniform(block.with_values(errors), self.trim, seed=0)


@dataclass(frozen=True, slots=True, eq=False)
class GibbsPass(Contribution):
    """One pass over the users: what items need to draw V given the users' own draws.

    With a proposal the same users, who draw the same factors, count the products out of reach.
    Not a released sum: the shares are unbounded and stay inside the mechanism.
    """

    target: Posterior
    temperature: float
    V: NDArray[np.float64] = field(repr=False)
    key: bytes = field(repr=False)
    proposal: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        """None: nothing of a pass is released."""
        return ()

    def zeros(self) -> Sums:
        m, k = self.V.shape
        if self.proposal is not None:
            return {"outside": np.zeros(m, np.int64)}
        sums: dict[str, NDArray[np.float64]] = {
            "gram": np.zeros((m, triangle(k))),
            "rhs": np.zeros((m, k)),
        }
        return sums  # type: ignore[return-value]  # floats: these sums are not released

    def add(self, block: UserBlock, sums: Sums) -> None:
        rows = self.target.trimmed(block)
        weights = self.target.weights(rows)
        U = self.draws(rows, weights)
        if self.proposal is not None:
            sums["outside"] += (np.abs(U @ self.proposal.T) > self.target.reach).sum(axis=0)
            return
        each = np.repeat(weights, np.diff(rows.indptr))
        sums["gram"] += _table(rows, each).T @ _squares(U)
        sums["rhs"] += _table(rows, each * rows.values).T @ U

    def draws(self, rows: UserBlock, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each user's factors given V, all products within reach: by drawing until they are."""
        if rows.first is None:
            raise ValueError("an engine that samples must number its users (UserBlock.first)")
        gram = _table(rows, np.ones(len(rows.items))) @ _squares(self.V)
        rhs = _table(rows, rows.values.astype(np.float64)) @ self.V
        mean, root = _conditional(gram * weights[:, None], rhs * weights[:, None], self.target)
        U = np.zeros_like(mean)
        open_users = np.ones(len(U), bool)
        for attempt in range(MOST_TRIES):
            z = self._normals(attempt, rows.first, len(U))
            drawn = mean + np.sqrt(self.temperature / 2) * _unscaled(root, z)
            within = (np.abs(drawn @ self.V.T) <= self.target.reach).all(axis=1)
            U = np.where((open_users & within)[:, None], drawn, U)
            open_users &= ~within
            if not open_users.any():
                return U
        raise NothingInRangeError

    def _normals(self, attempt: int, first: int, n_users: int) -> NDArray[np.float64]:
        """Standard normals of these users, the same in every pass under one key."""
        k = self.V.shape[1]
        key = hashlib.sha256(self.key + attempt.to_bytes(4, "big")).digest()
        return _as_normals(keyed_words(key, first * k, n_users * k)).reshape(n_users, k)


def chain(
    total: Callable[[GibbsPass], Sums],
    target: Posterior,
    temperature: float,
    source: NoiseSource,
    steps: int,
) -> NDArray[np.float64]:
    """Item factors after so many steps; no iterate but the last may leave the mechanism."""
    m, k = target.n_items, target.rank
    V = FIRST_SIZE * _as_normals(source.words(m * k)).reshape(m, k)
    if target.first is not None:
        V = np.where(np.isnan(target.first), V, target.first)
    for _ in range(steps):
        V = gibbs_step(total, target, temperature, source, V)
    return V


def gibbs_step(
    total: Callable[[GibbsPass], Sums],
    target: Posterior,
    temperature: float,
    source: NoiseSource,
    V: NDArray[np.float64],
) -> NDArray[np.float64]:
    """V after all users and then all items have drawn anew."""
    key = source.random_bytes(KEY_BYTES)
    sums = total(GibbsPass(target, temperature, V, key))
    gram, rhs = (sums[name].astype(np.float64) for name in ("gram", "rhs"))
    mean, root = _conditional(gram, rhs, target)
    z = _as_normals(source.words(V.size)).reshape(V.shape)
    proposal = mean + np.sqrt(temperature / 2) * _unscaled(root, z)
    outside = total(GibbsPass(target, temperature, V, key, proposal))["outside"]
    return np.where(outside[:, None] > 0, V, proposal)


def _conditional(
    gram: NDArray[np.float64], rhs: NDArray[np.float64], target: Posterior
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means (gram + ridge)^-1 rhs, and Cholesky factors of gram + ridge, row by row."""
    k = target.rank
    A = np.zeros((len(gram), k, k))
    upper = np.triu_indices(k)
    A[:, upper[0], upper[1]] = gram
    A[:, upper[1], upper[0]] = gram
    A += target.ridge * np.eye(k)
    mean = np.asarray(np.linalg.solve(A, rhs[:, :, None])[:, :, 0], np.float64)
    return mean, np.asarray(np.linalg.cholesky(A), np.float64)


def _unscaled(root: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normals of covariance (root root^T)^-1 from standard ones."""
    found = np.linalg.solve(root.transpose(0, 2, 1), z[:, :, None])[:, :, 0]
    return np.asarray(found, np.float64)


def _squares(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The packed upper triangles of x x^T."""
    rows, columns = np.triu_indices(X.shape[1])
    return X[:, rows] * X[:, columns]


def _table(rows: UserBlock, values: NDArray[np.float64]) -> sparse.csr_matrix:
    """Users x items, with these values in place of the ratings."""
    return sparse.csr_matrix((values, rows.items, rows.indptr), (rows.n_users, rows.n_items))


def _as_normals(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """One standard normal for each word."""
    found: NDArray[np.float64] = ndtri(((words >> np.uint64(11)) + 0.5) / 2.0**53)
    return found
