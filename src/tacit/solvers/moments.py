# SPDX-License-Identifier: Apache-2.0
"""Public item factors and second moments between two steps: post-processing all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
