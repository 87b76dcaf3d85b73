# SPDX-License-Identifier: Apache-2.0
"""Empirical-Bayes shrinkage of item offsets: all sums together tell how much to believe one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPREADS = np.geomspace(0.01, 1.5, 40)


def shrunk_offsets(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    noise_variance: float,
    rating_variance: NDArray[np.float64],
    width: float,
) -> NDArray[np.float64]:
    """Posterior mean of b where sums_j = counts_j b_j + noise, b_j ~ N(a + c log counts_j, tau^2).

    Popular items are rated higher, so the prior mean follows the noisy count; a, c and tau are
    those of highest likelihood. rating_variance is what chance among raters adds to a sum. Inputs
    are released numbers only, so this is post-processing. a and c themselves are shrunk toward 0
    (as if of standard deviation width / 4), so that noise beyond all signal gives offsets near 0.
    """
    precision = np.eye(2) / (width / 4) ** 2
    design = np.stack([np.ones_like(counts), np.log(counts)], axis=1) * counts[:, None]
    best, offsets = -np.inf, np.zeros_like(sums)
    for tau in _SPREADS * width / 4:
        signal = (tau * counts) ** 2
        variance = signal + noise_variance + rating_variance
        weighted = design / variance[:, None]
        line = np.linalg.solve(weighted.T @ design + precision, weighted.T @ sums)
        prior = design @ line
        residual = sums - prior
        likelihood = -float(np.sum(np.log(variance) + residual**2 / variance))
        if likelihood > best:
            best = likelihood
            offsets = (prior + residual * signal / variance) / counts
    return offsets
