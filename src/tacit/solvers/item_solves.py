# SPDX-License-Identifier: Apache-2.0
"""Many small symmetric systems, one for each item: post-processing of released sums."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Matrices of a chunk stay below this many bytes: they are near the processor when used again.
_CHUNK_BYTES = 1 << 23


def by_items(
    work: Callable[[slice], NDArray[np.float64]], n_items: int, rank: int
) -> NDArray[np.float64]:
    """The rows that `work` returns for all items, some items at a time on each thread."""
    size = max(_CHUNK_BYTES // (8 * rank * rank), 1)
    chunks = [slice(start, min(start + size, n_items)) for start in range(0, n_items, size)]
    with ThreadPoolExecutor(_cores(), thread_name_prefix="tacit") as pool:
        return np.concatenate(list(pool.map(work, chunks)))


def symmetric(triangles: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """The symmetric matrices of packed upper triangles."""
    rows, columns = np.triu_indices(rank)
    matrices = np.empty((len(triangles), rank, rank))
    matrices[:, rows, columns] = triangles
    matrices[:, columns, rows] = triangles
    return matrices


def positive(matrices: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each symmetric matrix has a Cholesky factor."""
    return np.array([lapack.dpotrf(each, overwrite_a=0)[1] == 0 for each in matrices], bool)


def positive_part(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each symmetric matrix projected to the cone of positive semi-definite ones, in place.

    Most of the time goes into eigenvectors, so a matrix that has a Cholesky factor is left alone.
    The others are decomposed in single precision: what it rounds is far below their noise.
    """
    outside = ~positive(matrices)
    if outside.any():
        values, vectors = np.linalg.eigh(matrices[outside].astype(np.float32))
        kept = vectors * np.maximum(values, 0)[:, None, :]
        projected: NDArray[np.float64] = (kept @ vectors.transpose(0, 2, 1)).astype(np.float64)
        matrices[outside] = projected
    return matrices


def solved(
    matrices: NDArray[np.float64], ridges: NDArray[np.float64], sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(A_j + ridge_j I)^-1 b_j for each item; A is overwritten."""
    diagonal = np.arange(matrices.shape[-1])
    matrices[:, diagonal, diagonal] += ridges[:, None]
    return np.asarray(np.linalg.solve(matrices, sides[:, :, None])[:, :, 0], np.float64)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
