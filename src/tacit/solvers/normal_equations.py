# SPDX-License-Identifier: Apache-2.0
"""The items' half of alternating least squares, from released sums: post-processing all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unpacked(triangle: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """The symmetric matrix of a packed upper triangle."""
    matrix = np.zeros((rank, rank))
    matrix[np.triu_indices(rank)] = triangle
    return matrix + np.triu(matrix, 1).T


def leading(A: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k largest eigenvalues of a symmetric matrix, rising, and their orthonormal vectors.

    A search in a large matrix begins at the same vector each time, so that its result is the same.
    """
    n = len(A)
    if n < 10 * k or not A.any():
        values, vectors = eigh(A, subset_by_index=(n - k, n - 1))
        return values, vectors
    values, vectors = eigsh(A, k=k, which="LA", v0=np.cos(np.arange(n)))
    order = np.argsort(values)
    return values[order], vectors[:, order]


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
