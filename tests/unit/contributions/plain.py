# SPDX-License-Identifier: Apache-2.0
"""Every sum once more, user by user in plain float64, without grids and without kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.bounding import item_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.contributions import Rows
    from tacit.data.block import UserBlock
    from tacit.folding import Centring, FoldIn


class Row(NamedTuple):
    """One user's ratings that enter a sum."""

    items: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def centred(centring: Centring, items: np.ndarray, values: np.ndarray) -> np.ndarray:
    b = centring.offsets
    residuals = values.astype(float) - (b[items] if isinstance(b, np.ndarray) else b)
    return residuals - residuals.sum() / (len(items) + centring.mean_ridge)


def rows_of(block: UserBlock) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True):
        yield block.items[start:stop], block.values[start:stop]


def prepared(rows: Rows, block: UserBlock) -> list[Row]:
    """What of each row enters, with unclipped targets."""
    ready = []
    for user, (items, values) in enumerate(rows_of(block)):
        targets = centred(rows.centring, items, values)
        own = block.rows(user, user + 1)
        if rows.among is not None:
            own = own.keep(rows.among[own.items])
        kept = np.isin(items, _kept_items(rows, own))
        weights = np.ones(np.count_nonzero(kept))
        if rows.weighting == "normalised":
            if rows.noisy_counts is not None:
                weights = np.maximum(rows.noisy_counts[items[kept]], 1.0) ** -rows.power
            weights /= np.sqrt(np.sum(weights**2))
        ready.append(Row(items[kept], targets[kept], weights))
    return ready


def _kept_items(rows: Rows, block: UserBlock) -> np.ndarray:
    if rows.item_limit is None:
        return block.items
    if rows.noisy_counts is None:
        return item_limit.uniform(block, rows.item_limit, seed=rows.seed).items
    order = np.argsort(rows.noisy_counts[block.items], kind="stable")
    return block.items[order[: rows.item_limit]]


def cut(vector: np.ndarray, bound: float) -> np.ndarray:
    return vector * min(1.0, bound / max(np.linalg.norm(vector), 1e-300))


def solved(fold: FoldIn, items: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The minimiser of the user's loss over the whole catalogue, by its normal equations."""
    n, r = fold.item_factors.shape
    V = fold.item_factors.astype(float)
    own = V[items]
    ridge = fold.ridge * (len(items) + fold.unobserved * n) ** fold.ridge_power
    A = own.T @ own + fold.unobserved * V.T @ V + ridge * np.eye(r)
    return np.linalg.solve(A, own.T @ centred(fold.centring, items, values))


def triangle(matrix: np.ndarray) -> np.ndarray:
    return matrix[np.triu_indices(len(matrix))]
