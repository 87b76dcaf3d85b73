# SPDX-License-Identifier: Apache-2.0
"""A small random search for a benchmark's settings, on a validation part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Settings = dict[str, Any]
Ranges = dict[str, tuple[Any, ...]]


def best_of(
    ranges: Ranges, first: Settings, trials: int, score: Callable[[Settings], float]
) -> tuple[Settings, float]:
    """The settings of the lowest score: `first`, then anything, then near the best so far."""
    rng = np.random.default_rng(4)
    best, least = first, math.inf
    for number in range(trials):
        keep = 1.0 if number == 0 else 2 / 3 if number > 2 * trials / 3 else 0.0
        some = {
            name: best[name] if rng.random() < keep else values[rng.integers(len(values))]
            for name, values in ranges.items()
        }
        if (found := score(some)) < least:
            best, least = some, found
    return best, least
