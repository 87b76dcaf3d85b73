# SPDX-License-Identifier: Apache-2.0
"""The public grid: here a real share becomes integers whose bound is checked in integers.

All sensitivities of the library rest on `snap` and `snap_dense`: whatever went before, a user's
row leaves them with sum(q^2) <= limit^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import snap_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BITS = 30  # a limit must fit int32


def limit_for(bits: int) -> int:
    """2^bits: how many grid steps a bound is long."""
    if not 1 <= bits <= MOST_BITS:
        raise ValueError(f"bits must be in 1..{MOST_BITS}, got {bits}")
    return 1 << bits


def step_for(l2: float, bits: int) -> float:
    """The grid step at which a bound of `l2` is exactly 2^bits steps.

    Guarantee:
        step_for(l2, bits) * limit_for(bits) == l2 in floating point, not approximately.
    """
    step = l2 / limit_for(bits)
    if not np.finfo(np.float64).tiny <= step < np.inf:
        raise ValueError(f"l2 must be a positive number, got {l2}")
    return step


def snap(
    values: NDArray[np.float32] | NDArray[np.float64],
    indptr: NDArray[np.int64],
    step: float,
    limit: int,
) -> NDArray[np.int32]:
    """Each user's CSR row of values to the nearest integers of the grid, inside the bound.

    Guarantee:
        For every row sum(q^2) <= limit^2 in exact integers, for any input: NaN counts as 0,
        infinite and huge values as the limit; local. Why: `tacit.kernels.reference.sums.snap_rows`.
    """
    return snap_rows(values, indptr, step, limit)


def snap_dense(rows: NDArray[np.float32], step: float, limit: int) -> NDArray[np.int32]:
    """Each row of a dense array (users x rank) to the grid, as `snap`.

    Guarantee:
        As `snap`: sum(q^2) <= limit^2 for every row, in exact integers.
    """
    users, rank = rows.shape
    indptr = np.arange(users + 1, dtype=np.int64) * rank
    return snap_rows(np.ascontiguousarray(rows).reshape(-1), indptr, step, limit).reshape(
        users, rank
    )
