# SPDX-License-Identifier: Apache-2.0
"""Which range a rating can have."""

from __future__ import annotations

import math

from tacit.data.catalogue import Scale
from tacit.data.errors import DataError

USUAL_SCALES = (
    (0, 1),
    (-1, 1),
    (1, 5),
    (0.5, 5),
    (0, 5),
    (1, 10),
    (0, 10),
    (-10, 10),
    (0, 100),
)
"""Narrowest first: a source is given the first that holds all its ratings."""

FLOAT32_MAX = 3.4e38


def recognise(low: float, high: float) -> Scale:
    """The narrowest usual scale that holds low to high.

    Which one it is depends on the ratings, so the result is marked: it is public by assumption.
    """
    for bottom, top in USUAL_SCALES:
        if bottom <= low and high <= top:
            return Scale(float(bottom), float(top), "recognised")
    usual = ", ".join(f"{bottom:g} to {top:g}" for bottom, top in USUAL_SCALES)
    raise DataError(
        f"the ratings fit none of the usual scales ({usual}); "
        "say which range a rating can have: scale=(low, high)"
    )


def declare(scale: tuple[float, float]) -> Scale:
    """The scale as the caller gives it."""
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -FLOAT32_MAX <= low < high <= FLOAT32_MAX:
        raise DataError("scale must be two finite numbers (low, high) with low < high")
    return Scale(low, high)
