# SPDX-License-Identifier: Apache-2.0
"""Empirical-Bayes shrinkage of noisy item factors: each factor's own noise tells how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 6


class Posterior(NamedTuple):
    """Item factors after shrinkage.

    kept: what each noisy number was multiplied with.
    unknown: for each factor the sum over items of the variance that is left.
    """

    mean: NDArray[np.float64]
    kept: NDArray[np.float64]
    unknown: NDArray[np.float64]


def shrunk_factors(
    noisy: NDArray[np.float64], variance: NDArray[np.float64], size: NDArray[np.float64]
) -> Posterior:
    """Posterior of V where noisy_jk = V_jk + noise of variance_k and V_jk ~ N(0, s_k size_j^2).

    s_k are those of highest likelihood, found by scoring. Inputs are released numbers only.
    """
    if not variance.any():
        return Posterior(noisy, np.ones_like(noisy), np.zeros_like(variance))
    prior = (size / np.sqrt(np.mean(size**2))) ** 2
    prior = np.maximum(prior, 1e-12)[:, None]
    # A factor of which nothing is seen is left a little, so that later steps can still find it.
    least = 1e-4 * variance
    s = np.maximum(np.mean(noisy**2, axis=0) - variance, least)
    for _ in range(_ROUNDS):
        precision = (prior / (s * prior + variance)) ** 2
        excess = np.sum((noisy**2 - variance) / prior * precision, axis=0)
        s = np.maximum(excess / np.sum(precision, axis=0), least)
    kept = s * prior / (s * prior + variance)
    return Posterior(noisy * kept, kept, np.sum(kept * variance, axis=0))
