# SPDX-License-Identifier: Apache-2.0
"""From a noisy covariance and its weights to factors or neighbours: post-processing all of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.solvers.moments import leading

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Cleansed(NamedTuple):
    """Average covariances of the items' ratings, and the deviation of the noise in them."""

    values: NDArray[np.float64]
    noise: float


def cleansed(
    covariance: NDArray[np.float64],
    weights: NDArray[np.float64],
    covariance_noise: float,
    weight_noise: float,
) -> Cleansed:
    """Covariance / weights, entry by entry; where few users met, nearer to the average entry.

    An entry counts as if it had the noise of its weight more, all of it of the average. Diagonal
    and other entries have an average each. Noise is the root mean square over all entries, of which
    those off the diagonal have a released noise of 1 / sqrt(2) times that on it.
    """
    n = len(covariance)
    met = np.maximum(weights, 0.0)
    prior = max(weight_noise, np.finfo(np.float64).tiny)
    average = np.full((n, n), _average(covariance, met, ~np.eye(n, dtype=np.bool_)))
    np.fill_diagonal(average, _average(covariance, met, np.eye(n, dtype=np.bool_)))
    values = (covariance + prior * average) / (met + prior)
    noise = covariance_noise / math.sqrt(2) / (met + prior)
    return Cleansed(values, float(np.sqrt(np.mean(noise**2))))


def _average(
    covariance: NDArray[np.float64], met: NDArray[np.float64], where: NDArray[np.bool_]
) -> float:
    """Sum over sum, 0 where nothing was met."""
    total = float(met[where].sum())
    return float(covariance[where].sum()) / total if total > 0 else 0.0


def without_noise(values: NDArray[np.float64], noise: float, n: int) -> NDArray[np.float64]:
    """Eigenvalues as they were before symmetric noise of this deviation in all n x n entries.

    Noise lifts an eigenvalue t to t + n noise^2 / t; what does not stand above 2 sqrt(n) noise, the
    largest that noise has of its own, is 0.
    """
    edge = 2 * math.sqrt(n) * noise
    lifted = np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    return np.where(values > edge, (values + lifted) / 2, 0.0)


def factors_of(C: Cleansed, rank: int) -> tuple[NDArray[np.float64], float]:
    """Item factors V with V V^T near C, and the variance of a rating that they leave over."""
    values, vectors = leading(C.values, rank)
    V = vectors * np.sqrt(without_noise(values, C.noise, len(C.values)))
    left = float(np.mean(np.diag(C.values))) - float(np.mean(np.sum(V**2, axis=1)))
    return V, left


def nearest(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """For each item the weights of its k items of largest covariance, which add up to 1 at most.

    Each is its covariance over the sum of them all and of the average variance, so that weak
    neighbours predict little.
    """
    n = len(values)
    between = np.array(values)
    np.fill_diagonal(between, 0.0)
    k = min(k, n)
    least = -np.partition(-between, k - 1, axis=1)[:, k - 1 : k]
    kept = np.where((between >= least) & (between > 0), between, 0.0)
    variance = max(float(np.mean(np.diag(values))), 0.0)
    total = kept.sum(axis=1, keepdims=True) + variance
    return kept / np.where(total > 0, total, 1.0)
