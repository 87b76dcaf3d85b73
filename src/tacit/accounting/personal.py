# SPDX-License-Identifier: Apache-2.0
"""What one user risks at her own level, and the level that an epsilon of her own leaves her.

At level w all that she adds is scaled by w, so each release costs her w times its mu: exactly, for
w her declared level, since shares are scaled in integers (`bounding/levels.py`). Two users at
different levels have different guarantees from one and the same model. proofs/personal.md
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting import composition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tacit.accounting.composition import Adjacency
    from tacit.accounting.release import Release

# Levels that follow from an epsilon are so many to 1, rounded down.
STEPS = 256


def epsilon(
    releases: Sequence[Release],
    delta: float,
    level: float,
    *,
    adjacency: Adjacency = "zero-out",
    relative_error: float = 0.0,
) -> float:
    """The epsilon at `delta` of a user at this level.

    Guarantee:
        As `composition.epsilon`, for bounds scaled by her level; 0 for level 0, at which nothing
        that is released depends on her.
    """
    if not 0 <= level <= 1:
        raise ValueError(f"level must be from 0 to 1, got {level}")
    own = tuple(replace(each, l2=each.l2 * level) for each in releases if each.l2 * level > 0)
    if not own:
        return 0.0
    return composition.epsilon(own, delta, adjacency=adjacency, relative_error=relative_error)


def levels(
    own_epsilons: NDArray[np.float64],
    releases: Sequence[Release],
    delta: float,
    *,
    relative_error: float = 0.0,
) -> NDArray[np.float32]:
    """For each user the largest level, in steps of 1/256, that costs at most what she grants.

    own_epsilons: NaN where she said nothing, which leaves her at level 1.

    Guarantee:
        `epsilon` at her level is at most her own epsilon, for every user who declared one.
    """

    @lru_cache
    def spent(steps: int) -> float:
        return epsilon(releases, delta, steps / STEPS, relative_error=relative_error)

    found = np.ones(len(own_epsilons), np.float32)
    for own in np.unique(own_epsilons[~np.isnan(own_epsilons)]).tolist():
        low, high = 0, STEPS + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if spent(middle) <= own else (low, middle)
        found[own_epsilons == own] = low / STEPS
    return found
