# SPDX-License-Identifier: Apache-2.0
"""The n best items of each user, from factors and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PANEL = 48


def pack_items(factors: NDArray[np.float32], offsets: NDArray[np.float32]) -> NDArray[np.float32]:
    """Panels of 48 items: a row of offsets, then one row for each dimension.

    What fills up the last panel has an offset of minus infinity.
    """
    items, rank = factors.shape
    panels = -(-items // PANEL)
    rows = np.zeros((panels * PANEL, 1 + rank), np.float32)
    rows[:, 0] = -np.inf
    rows[:items, 0] = offsets
    rows[:items, 1:] = factors
    return np.ascontiguousarray(rows.reshape(panels, PANEL, 1 + rank).transpose(0, 2, 1))


def rank_users(
    factors: NDArray[np.float32],
    packed: NDArray[np.float32],
    items: int,
    n: int,
    indptr: NDArray[np.int64],
    excluded: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """For each user the n items of highest score, best first, and their scores.

    The score is offset + x_0 v_0 + x_1 v_1 + ... in this order. Equal scores come in the order of
    the items. User u is not given excluded[indptr[u]:indptr[u + 1]], which ascend. Where no item is
    left the item is -1 and its score minus infinity.
    """
    chosen = np.full((len(factors), n), -1, np.int32)
    best = np.full((len(factors), n), -np.inf, np.float32)
    for u, x in enumerate(factors):
        scores = packed[:, 0].copy()
        for k, weight in enumerate(x):
            scores += weight * packed[:, 1 + k]
        scores = scores.reshape(-1)[:items]
        scores[excluded[indptr[u] : indptr[u + 1]]] = -np.inf
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > -np.inf][:n]
        chosen[u, : len(order)] = order
        best[u, : len(order)] = scores[order]
    return chosen, best
