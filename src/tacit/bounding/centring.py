# SPDX-License-Identifier: Apache-2.0
"""Subtracting what a user's own row says about her scale: local, hence free of budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import sum_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock


def user_means(
    block: UserBlock,
    *,
    offsets: NDArray[np.float32] | None = None,
    prior: float = 0.0,
    strength: float = 0.0,
) -> NDArray[np.float64]:
    """Each user's mean rating above the item offsets, drawn towards a public prior.

    Args:
        block: whole users.
        offsets: one public number per item, subtracted first; None for zeros.
        prior: public guess of a user's mean above the offsets.
        strength: how many ratings the prior weighs, >= 0. With 0 an empty row has the prior itself.

    Guarantee:
        Local: a mean is a function of that user's row and of the public arguments.
    """
    if not 0 <= strength < np.inf:
        raise ValueError(f"strength must be >= 0 and finite, got {strength}")
    sums = sum_rows(_above(block, offsets), block.indptr) + strength * prior
    weight = np.diff(block.indptr) + strength
    return np.where(weight > 0, sums / np.maximum(weight, np.finfo(np.float64).tiny), prior)


def centre(
    block: UserBlock,
    *,
    offsets: NDArray[np.float32] | None = None,
    prior: float = 0.0,
    strength: float = 0.0,
) -> NDArray[np.float32]:
    """The block's values minus item offsets and minus each user's (shrunk) mean above them.

    Guarantee:
        Local, as `user_means`. Not bounded: clip afterwards, never before.
    """
    means = user_means(block, offsets=offsets, prior=prior, strength=strength)
    spread = np.repeat(means, np.diff(block.indptr))
    return (_above(block, offsets) - spread).astype(np.float32)


def _above(block: UserBlock, offsets: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Values minus the offsets of their items."""
    if offsets is None:
        return block.values
    if offsets.shape != (block.n_items,):
        raise ValueError(f"offsets must have one number per item, got shape {offsets.shape}")
    return block.values - offsets.astype(np.float32)[block.items]
