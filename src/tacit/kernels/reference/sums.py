# SPDX-License-Identifier: Apache-2.0
"""Exact integer sums over users: snapping to the grid inside a bound, and scattering by item.

Rows of users are CSR (`indptr`); `amounts` are the snapped weights or values of single ratings,
`rows` the snapped user factors. Every `out` is int64 and added to in place. The caller excludes
overflow by a public bound (see `mechanisms`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def snap_rows(
    values: NDArray[np.float32] | NDArray[np.float64],
    indptr: NDArray[np.int64],
    step: float,
    limit: int,
) -> NDArray[np.int32]:
    """Each row to integers q = rint(value / step) with sum(q^2) <= limit^2, whatever the values.

    A row that comes out too long is shrunk and rounded again: first to a norm one step below the
    limit, which is nearly always enough; then by a margin that always is, because nearest rounding
    lengthens a row of k numbers by at most sqrt(k) / 2; and were floating point to break that
    argument, to zero. Each result is checked in integers. What is not a number counts as zero;
    infinities count as the limit, which must be below 2^31.
    """
    if not 0 < limit < 2**31 or not 0 < step < np.inf:
        raise ValueError(f"step must be > 0 and limit in 1..2^31 - 1, got {step} and {limit}")
    snapped = np.empty(len(values), np.int32)
    with np.errstate(all="ignore"):
        cut = np.clip(np.nan_to_num(values.astype(np.float64) / step, nan=0.0), -limit, limit)
    for start, stop in pairwise(indptr.tolist()):
        row = cut[start:stop]
        q = np.rint(row).astype(np.int64)
        norm2 = _norm2(q)
        if norm2 > limit * limit:
            margin = float(np.sqrt(float(stop - start))) / 2
            for shrink in (
                (limit - 1) / float(np.sqrt(float(norm2 + stop - start))),
                (limit - margin) / (float(np.sqrt(float(norm2))) + margin),
                0.0,
            ):
                q = np.rint(row * max(shrink, 0.0)).astype(np.int64)
                if _norm2(q) <= limit * limit:
                    break
        snapped[start:stop] = q
    return snapped


def _norm2(q: NDArray[np.int64]) -> int:
    """sum(q^2) exactly, also beyond 2^63 (|q| < 2^31)."""
    squares = q * q
    return (int((squares >> 31).sum()) << 31) + int((squares & (2**31 - 1)).sum())


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
    for start, stop in pairwise(indptr.tolist()):
        order = np.argsort(items[start:stop])
        which = items[start:stop][order].astype(np.int64)
        a = amounts[start:stop][order].astype(np.int64)
        i, j = np.triu_indices(len(which))
        low, high = which[i], which[j]
        out[low * n_items - low * (low - 1) // 2 + high - low] += a[i] * a[j]


def sum_rows(
    values: NDArray[np.float32] | NDArray[np.float64], indptr: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sum of each row in float64, in the row's own order, so that no neighbour can move a bit."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.bincount(users, weights=values, minlength=len(indptr) - 1).astype(np.float64)


def hash_rows(indptr: NDArray[np.int64], items: NDArray[np.int32], seed: int) -> NDArray[np.uint64]:
    """A key for each rating from the seed, its item and the set of items of its row.

    Distinct items of one row have distinct keys, in an order that looks random; neither the order
    of the row nor its place in the block matters.
    """
    start = np.uint64(seed % 2**64)
    single = _mix(items.astype(np.uint64) + start)
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(single, dtype=np.uint64)])
    salt = _mix((running[indptr[1:]] - running[indptr[:-1]]) ^ start)
    return _mix(items.astype(np.uint64) ^ np.repeat(salt, np.diff(indptr)))


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The splitmix64 step: a bijection of 64 bits (Steele, Lea and Flood, 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keep_smallest(
    indptr: NDArray[np.int64], keys: NDArray[np.uint64], most: int
) -> NDArray[np.bool_]:
    """True for the `most` smallest keys of each row; of equal keys the first ones are kept."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((keys, users))
    rank = np.arange(len(keys)) - np.repeat(indptr[:-1], np.diff(indptr))
    kept = np.empty(len(keys), np.bool_)
    kept[order] = rank < most
    return kept
