# SPDX-License-Identifier: Apache-2.0
"""The items' half of alternating least squares, from released sums: post-processing all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unpacked(triangle: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """The symmetric matrix of a packed upper triangle."""
    matrix = np.zeros((rank, rank))
    matrix[np.triu_indices(rank)] = triangle
    return matrix + np.triu(matrix, 1).T


def expected_step(
    n: NDArray[np.float64],
    C: NDArray[np.float64],
    g: NDArray[np.float64],
    V: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(n_j I + ridge_j I)^-1 (g_j + n_j C V_j) for every item.

    C is noisy; its eigenvalues are brought back to [0, 1], between knowing nothing of the users'
    factors and knowing them exactly.
    """
    values, vectors = np.linalg.eigh(C)
    known = (vectors * np.clip(values, 0, 1)) @ vectors.T
    step: NDArray[np.float64] = (g + n[:, None] * (V @ known)) / (n + ridge)[:, None]
    return step
