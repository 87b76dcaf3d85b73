# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""Rules for the values of the stored rows. Nothing here quotes a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.catalogue import Scale
from tacit.data.errors import DataError
from tacit.data.scales import declare, recognise

if TYPE_CHECKING:
    from tacit.data.options import Options
    from tacit.data.rows import Picks
    from tacit.data.staging import Staging

RATING = "TRY_CAST(rating AS FLOAT)"
"""A rating as it will be stored: comparisons with the scale see the same 32 bits as the solver."""


@dataclass(frozen=True, slots=True, repr=False)
class Found:
    """Private facts of the stored rows; used while reading, never shown."""

    rows: int
    low: float
    high: float


def check_values(staging: Staging, picks: Picks) -> Found:
    """Ids are there and ratings are finite numbers; says where the first is that is not."""
    rules = [(role, f"{role} IS NULL", "has no value", "remove it") for role in ("user", "item")]
    low, high = "1.0", "1.0"
    if "rating" in picks:
        bad = f"NOT isfinite({RATING})"
        rules += [
            (
                "rating",
                "rating IS NULL",
                "has no value",
                "remove it, or read with feedback='implicit'",
            ),
            ("rating", f"{RATING} IS NULL", "is not a number", "write it as a number such as 4.5"),
            ("rating", bad, "is NaN or infinite", "remove the row, or give it a finite value"),
        ]
        low, high = f"min({RATING})", f"max({RATING})"
    firsts = ", ".join(f"min(rowid) FILTER (WHERE {condition})" for _, condition, *_ in rules)
    rows, low_found, high_found, *offenders = staging.row(
        f"SELECT count(*), {low}, {high}, {firsts} FROM ratings"
    )
    if rows == 0:
        raise DataError("the source has no rows")
    for (role, _, what, advice), offender in zip(rules, offenders, strict=True):
        if offender is not None:
            raise DataError(f"column {picks[role]!r} ({role}): row {offender + 1} {what}; {advice}")
    return Found(rows, float(low_found), float(high_found))


def settle_scale(staging: Staging, picks: Picks, found: Found, options: Options) -> Scale:
    """The scale asked for, or the one that fits; ratings outside it are refused unless clipped."""
    if options.feedback == "implicit" and found.low < 0:
        row = _first(staging, f"{RATING} < 0")
        raise DataError(
            f"column {picks['rating']!r} (rating): row {row} is negative, but implicit feedback "
            "counts from 0; read with feedback='explicit'"
        )
    if options.binary:
        return Scale(0.0, 1.0)
    if options.scale is None:
        return recognise(found.low, found.high)
    scale = declare(options.scale)
    low, high = float(np.float32(scale.low)), float(np.float32(scale.high))
    if options.out_of_scale == "refuse" and not low <= found.low <= found.high <= high:
        row = _first(
            staging, f"NOT {RATING} BETWEEN CAST({low!r} AS FLOAT) AND CAST({high!r} AS FLOAT)"
        )
        raise DataError(
            f"column {picks['rating']!r} (rating): row {row} is outside the declared scale "
            f"{scale.low:g} to {scale.high:g}; correct scale=, or clip: out_of_scale='clip'"
        )
    return scale


def _first(staging: Staging, condition: str) -> int:
    """The number of the first such row, from 1."""
    return int(staging.value(f"SELECT min(rowid) FROM ratings WHERE {condition}")) + 1
