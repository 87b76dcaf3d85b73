# SPDX-License-Identifier: Apache-2.0
"""Exact integer sums over users: snapping to the grid inside a bound, and scattering by item.

Rows of users are CSR (`indptr`); `amounts` are the snapped weights or values of single ratings,
`rows` the snapped user factors. Every `out` is int64 and added to in place. The caller excludes
overflow by a public bound (see `mechanisms`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def snap_rows(
    values: NDArray[np.float64], indptr: NDArray[np.int64], step: float, limit: int
) -> NDArray[np.int32]:
    """Each row to integers q = rint(value / step) with sum(q^2) <= limit^2, whatever the values.

    Nearest rounding can lengthen a row of k numbers by up to sqrt(k) / 2, so a row that comes out
    too long is shrunk to leave that margin and rounded again, and cut toward zero where even that
    is too long. What is not a number counts as zero; limit is below 2^31.
    """
    snapped = np.empty(len(values), np.int32)
    cut = np.clip(np.nan_to_num(values / step, nan=0.0), -limit, limit)
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        row = cut[start:stop]
        q = np.rint(row).astype(np.int64)
        if (norm2 := int(q @ q)) > limit * limit:
            margin = np.sqrt(float(len(row))) / 2
            shrink = max((limit - margin) / (np.sqrt(float(norm2)) + margin), 0.0)
            q = np.rint(row * shrink).astype(np.int64)
            while int(q @ q) > limit * limit:
                q -= np.sign(q)
        snapped[start:stop] = q
    return snapped


def scatter_sum(
    items: NDArray[np.int32], amounts: NDArray[np.int32], out: NDArray[np.int64]
) -> None:
    """out[items[p]] += amounts[p]."""
    np.add.at(out, items, amounts.astype(np.int64))


def scatter_outer(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    amounts: NDArray[np.int32],
    rows: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """out[items[p]] += amounts[p] * rows[user of p]; out is items x rank."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    np.add.at(out, items, amounts.astype(np.int64)[:, None] * rows[users].astype(np.int64))


def scatter_gram(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    amounts: NDArray[np.int32],
    rows: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """out[items[p]] += amounts[p] * packed upper triangle of rows[user] rows[user]^T."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    a, b = np.triu_indices(rows.shape[1])
    wide = rows.astype(np.int64)
    np.add.at(out, items, amounts.astype(np.int64)[:, None] * (wide[:, a] * wide[:, b])[users])


def gram(rows: NDArray[np.int32], amounts: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """Out += packed upper triangle of sum_u amounts[u] rows[u] rows[u]^T."""
    a, b = np.triu_indices(rows.shape[1])
    wide = rows.astype(np.int64)
    out += ((wide * amounts.astype(np.int64)[:, None]).T @ wide)[a, b]


def scatter_pairs(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    amounts: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Out += packed upper triangle (items x items) of sum_u a_u a_u^T for sparse rows a_u.

    A user's items are distinct.
    """
    n_items = int((np.sqrt(8 * len(out) + 1) - 1) / 2)
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        order = np.argsort(items[start:stop])
        which = items[start:stop][order].astype(np.int64)
        a = amounts[start:stop][order].astype(np.int64)
        i, j = np.triu_indices(len(which))
        low, high = which[i], which[j]
        out[low * n_items - low * (low - 1) // 2 + high - low] += a[i] * a[j]
