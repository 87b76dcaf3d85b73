# SPDX-License-Identifier: Apache-2.0
"""Many small symmetric systems, one for each item: post-processing of released sums."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels

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
    place = np.empty((rank, rank), np.intp)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return triangles.take(place.reshape(-1), axis=1).reshape(-1, rank, rank)


def positive(matrices: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each symmetric matrix has a Cholesky factor."""
    zeros = np.zeros(matrices.shape[:2])
    return kernels.solve_items(matrices, np.zeros(len(matrices)), zeros)[1]


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
    """(A_j + ridge_j I)^-1 b_j for each item."""
    found, fine = kernels.solve_items(matrices, ridges, sides)
    if not fine.all():
        others = matrices[~fine] + ridges[~fine, None, None] * np.eye(matrices.shape[-1])
        found[~fine] = np.linalg.solve(others, sides[~fine][:, :, None])[:, :, 0]
    return found


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
