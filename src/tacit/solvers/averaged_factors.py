# SPDX-License-Identifier: Apache-2.0
"""Item factors as the average of all noisy steps: post-processing of released products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.solvers.factor_shrinkage import Posterior, shrunk_factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The step t, from 0, weighs about t^2: early steps look along factors that are still rough.
_LATER = 3

# Second moments of users' factors are near 1; noise must not take one to zero.
_LEAST_MOMENT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class AveragedFactors:
    """V, the posterior mean of item factors given their average over the steps.

    size: of the rows of V, as the counts let expect it.
    average: of the steps so far, with noise; in the basis of V.
    variance: of that noise, for each factor.
    posterior: of V; `unknown` is what V^T V is expected to lack.
    """

    size: NDArray[np.float64]
    average: NDArray[np.float64]
    variance: NDArray[np.float64]
    posterior: Posterior
    steps: int = 0

    @classmethod
    def start(cls, size: NDArray[np.float64], rank: int, seed: int) -> AveragedFactors:
        """Popularity, and random factors beside it."""
        rng = np.random.default_rng(seed)
        V = rng.standard_normal((len(size), rank)) * size[:, None] * 0.1
        V[:, 0] = size * 0.4
        nothing = np.zeros(rank)
        return cls(size, V, nothing, Posterior(V, np.ones_like(V), nothing))

    @property
    def directions(self) -> NDArray[np.float64]:
        """V M^-1 with M = V^T V + unknown: a user's row times these are her factors."""
        V, _, unknown = self.posterior
        return np.asarray(np.linalg.solve(_moment(V, unknown), V.T).T, np.float64)

    def balanced(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """V M^-1/2, of which both her factors and her predictions are made.

        own: for each item what it adds to its own second moment, which tells nothing of others. It
            is taken out here at last, and factors that live on it alone go. In the steps it stays:
            without it the matrix has large negative eigenvalues, whose directions would be found.
        """
        V, kept, unknown = self.posterior
        D = self.directions
        found = V - kept * own[:, None] * D
        C = D.T @ found
        moments, Q = np.linalg.eigh((C + C.T) / 2)
        Q = Q[:, moments > 0]
        found, unknown = found @ Q, Q.T**2 @ unknown
        values, turn = np.linalg.eigh(_moment(found, unknown))
        turned: NDArray[np.float64] = found @ turn / np.sqrt(values)
        return turned

    def after(self, P: NDArray[np.float64], noise: float, b: float | None) -> AveragedFactors:
        """With one more release, the mean over users of s x for each item.

        It is averaged in by b; by default so that later steps weigh more, and none is forgotten.

        The new basis makes the users' second moment I, so that all factors bear equal noise.
        """
        C = self.directions.T @ P
        moments, Q = np.linalg.eigh((C + C.T) / 2)
        moments = np.maximum(moments, max(0.05 * float(np.median(moments)), _LEAST_MOMENT))
        found, variance = P @ Q / moments, (noise / moments) ** 2
        b = _LATER / (_LATER + self.steps) if b is None else b
        if self.steps:
            found = (1 - b) * self.average @ Q + b * found
            variance = (1 - b) ** 2 * (Q.T**2 @ self.variance) + b**2 * variance
        scale = np.sqrt(moments)
        found, variance = found * scale, variance * moments
        posterior = shrunk_factors(found, variance, self.size)
        return AveragedFactors(self.size, found, variance, posterior, self.steps + 1)


def _moment(V: NDArray[np.float64], unknown: NDArray[np.float64]) -> NDArray[np.float64]:
    """V^T V with what is unknown of it; never singular."""
    M: NDArray[np.float64] = V.T @ V
    M[np.diag_indices_from(M)] += unknown + 1e-7 * np.trace(M) / max(len(M), 1) + 1e-30
    return M
