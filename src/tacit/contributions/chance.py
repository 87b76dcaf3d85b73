# SPDX-License-Identifier: Apache-2.0
"""How large chance is in ratings that factors predict: one bounded number from each user.

With factors x ~ N(0, I), targets t = V x + chance of variance s and her least-squares factors under
the ridge s, residuals are e = t - V x = s (V V^T + s I)^-1 t, so the expected sum of t e is s for
each rating. The mean of t e tells chance although she fitted her factors to the same ratings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.bounding import levels
from tacit.contributions.base import Part
from tacit.contributions.rows import grid_of, snap_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Sums
    from tacit.data.block import UserBlock

CHANCE_BITS = 20


def chance_part(bound: float) -> Part:
    """The sum over users of each user's mean of target * residual, cut to [0, bound]."""
    grid = grid_of(bound, CHANCE_BITS)
    return Part("chance", (1,), grid.limit, grid.step, cone=True)


def add_chance(
    targets: UserBlock, residuals: NDArray[np.floating], bound: float, sums: Sums
) -> None:
    """Add to the part `chance_part`. A user without ratings adds 0."""
    numbers = np.maximum(np.diff(targets.indptr), 1)
    products = targets.values.astype(np.float64) * residuals
    means = np.maximum(kernels.sum_rows(products, targets.indptr) / numbers, 0.0)
    snapped = levels.scale_users(snap_each(means, grid_of(bound, CHANCE_BITS)), targets)
    kernels.scatter_sum(np.zeros(len(snapped), np.int32), snapped, sums["chance"])
