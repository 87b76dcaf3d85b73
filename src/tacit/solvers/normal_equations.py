# SPDX-License-Identifier: Apache-2.0
"""The items' half of alternating least squares, from released sums: post-processing all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def weighted_counts(counts: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Counts of ratings that weigh as count^-power, from counts of ratings that weigh alike.

    Up to a factor that the normalisation of each user's weights keeps near 1 in sum.
    """
    weighted = counts ** (1 - power)
    scaled: NDArray[np.float64] = weighted * (counts.sum() / weighted.sum())
    return scaled


def unpacked(triangle: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """The symmetric matrix of a packed upper triangle."""
    matrix = np.zeros((rank, rank))
    matrix[np.triu_indices(rank)] = triangle
    return matrix + np.triu(matrix, 1).T


def residual_step(
    n: NDArray[np.float64],
    C: NDArray[np.float64],
    g: NDArray[np.float64],
    V: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """(n_j C + ridge I)^-1 (g_j + n_j C V_j) for every item, in the eigenbasis that all share.

    C is noisy: eigenvalues below a thousandth of the largest are lifted to that.
    """
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, 1e-3 * max(float(values[-1]), 1e-9))
    scale = n[:, None] * values
    solved: NDArray[np.float64] = (g @ vectors + scale * (V @ vectors)) / (scale + ridge)
    return solved @ vectors.T
