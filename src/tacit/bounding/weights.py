# SPDX-License-Identifier: Apache-2.0
"""Weights of a user's ratings whose squares sum to at most 1: her whole row weighs at most one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import sum_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock

# Aims this much below 1, which is more than float64 rounding of ten million squares can add.
_ROUNDING = 1 - 2.0**-28


def uniform(block: UserBlock) -> NDArray[np.float64]:
    """1 / sqrt(n) for each of a user's n ratings.

    Guarantee:
        Sum of squares at most 1 for every user; local.
    """
    numbers = np.maximum(np.diff(block.indptr), 1)
    return np.repeat(_ROUNDING / np.sqrt(numbers), np.diff(block.indptr))


def adaptive(
    block: UserBlock, *, noisy_counts: NDArray[np.float64], power: float, floor: float = 1.0
) -> NDArray[np.float64]:
    """Weights proportional to max(noisy count, floor)^-power, normalised over the user's own items.

    Rare items weigh more, and a light user's ratings weigh more than a heavy user's. The counts
    must be public, that is released with noise.

    Guarantee:
        Sum of squares at most 1 for every user; local given the noisy counts.
    """
    if noisy_counts.shape != (block.n_items,):
        raise ValueError(f"noisy_counts must be one per item, got shape {noisy_counts.shape}")
    if not 0 < floor < np.inf or not np.isfinite(power):
        raise ValueError(f"floor must be > 0 and power finite, got {floor} and {power}")
    # Relative to the heaviest item, so that no power overflows: the normalisation cancels it.
    logs = -power * np.log(np.clip(np.nan_to_num(noisy_counts, nan=0.0), floor, None))
    own: NDArray[np.float64] = np.exp(np.maximum(logs - logs.max(initial=-np.inf), -300.0))[
        block.items
    ]
    norms = np.sqrt(sum_rows(own * own, block.indptr))
    scale = _ROUNDING / np.where(norms > 0, norms, 1.0)
    return np.multiply(own, np.repeat(scale, np.diff(block.indptr)), dtype=np.float64)
