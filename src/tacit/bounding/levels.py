# SPDX-License-Identifier: Apache-2.0
"""A user's own privacy level: her whole share is scaled by it, in integers, after it is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock

# Levels count in steps of 2^-20, rounded down.
BITS = 20


def scale_ratings(
    q: NDArray[np.int32], block: UserBlock, what: Literal["share", "factor"] = "share"
) -> NDArray[np.int32]:
    """The integers of every rating, times the level of the user it belongs to.

    what: a "factor" is multiplied by itself in the share, so it is scaled by the level's root.

    Guarantee:
        Toward zero, in integer arithmetic: a user at level w keeps at most w times the norm of her
        row ("factor": of its square), exactly; without levels nothing changes; local.
    """
    if block.levels is None:
        return q
    return _scaled(q, np.repeat(_steps(block.levels, what), np.diff(block.indptr)))


def scale_users(
    q: NDArray[np.int32], block: UserBlock, what: Literal["share", "factor"] = "share"
) -> NDArray[np.int32]:
    """The same where every user has one integer, or one row of them.

    Guarantee:
        As `scale_ratings`.
    """
    if block.levels is None:
        return q
    steps = _steps(block.levels, what)
    return _scaled(q, steps.reshape(-1, *[1] * (q.ndim - 1)))


def _steps(levels: NDArray[np.float32], what: Literal["share", "factor"]) -> NDArray[np.int64]:
    """Levels, or the roots of levels, as whole steps that are never above them."""
    steps = np.floor(levels.astype(np.float64) * (1 << BITS)).astype(np.int64)
    if what == "factor":
        # Below 2^53, so both the argument and the floor of its correctly rounded root are exact.
        return np.floor(np.sqrt((steps << BITS).astype(np.float64))).astype(np.int64)
    return steps


def _scaled(q: NDArray[np.int32], steps: NDArray[np.int64]) -> NDArray[np.int32]:
    """Q steps / 2^BITS, rounded toward zero."""
    sizes = np.abs(q.astype(np.int64)) * steps >> BITS
    return np.where(q < 0, -sizes, sizes).astype(np.int32)
