# SPDX-License-Identifier: Apache-2.0
"""Public item factors and second moments between two steps: post-processing all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

if TYPE_CHECKING:
    from numpy.typing import NDArray


def single(V: NDArray[np.float64]) -> NDArray[np.float32]:
    return V.astype(np.float32)


def cut(V: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Rows longer than the bound, cut to it."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    shortened: NDArray[np.float64] = V * (bound / np.maximum(norms, bound))
    return shortened


def second_moment(V: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of v v^T over ratings."""
    moment: NDArray[np.float64] = V.T @ (V * (n / n.sum())[:, None])
    return moment


def between(C: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """A noisy second moment with its eigenvalues brought back to [0, most]."""
    values, vectors = np.linalg.eigh(C)
    moment: NDArray[np.float64] = (vectors * np.clip(values, 0, most)) @ vectors.T
    return moment


def largest(C: NDArray[np.float64]) -> float:
    return float(np.linalg.eigvalsh(C)[-1])


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
