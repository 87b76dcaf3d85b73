# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""What users declared about their own privacy, on any of their rows: a level, or an epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.data.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.options import Options
    from tacit.data.rows import Picks
    from tacit.data.staging import Staging

_DECLARED = "TRY_CAST(privacy AS DOUBLE)"
_RULES = {
    "level": (f"{_DECLARED} BETWEEN 0 AND 1", "a number from 0 to 1"),
    "epsilon": (f"{_DECLARED} > 0 AND isfinite({_DECLARED})", "a finite number above 0"),
}


def declared(
    staging: Staging, picks: Picks, options: Options, n_users: int
) -> NDArray[np.float64] | None:
    """For each user what she declared, NaN where nothing; None where there is no such column."""
    if "privacy" not in picks:
        return None
    valid, rule = _RULES[options.privacy_unit]
    named = f"column {picks['privacy']!r} (privacy)"
    bad = staging.value(
        f"SELECT min(rowid) FROM ratings WHERE privacy IS NOT NULL AND NOT coalesce({valid}, false)"
    )
    if bad is not None:
        raise DataError(
            f"{named}: row {bad + 1} is not {rule}, as privacy_unit={options.privacy_unit!r} wants "
            "it; correct it, or rename the column if it is about something else"
        )
    other = staging.value(
        f"SELECT min(place) FROM (SELECT rowid AS place, {_DECLARED} AS own, "
        f"min({_DECLARED}) OVER (PARTITION BY user) AS least FROM ratings) WHERE own > least"
    )
    if other is not None:
        raise DataError(
            f"{named}: row {other + 1} differs from another row of its user; a user has one level "
            "for all of her ratings"
        )
    return _by_number(staging, n_users)


def _by_number(staging: Staging, n_users: int) -> NDArray[np.float64]:
    own = np.full(n_users, np.nan)
    query = (
        f"SELECT users.n AS u, min({_DECLARED}) AS own FROM ratings JOIN users "
        "ON users.raw = ratings.user WHERE privacy IS NOT NULL GROUP BY users.n"
    )
    for batch in staging.batches(query):
        own[np.asarray(batch.column(0))] = np.asarray(batch.column(1))
    return own


def as_levels(own: NDArray[np.float64]) -> NDArray[np.float32]:
    """Declared levels in 32 bits, never above what was declared; 1 where nothing was."""
    wanted = np.where(np.isnan(own), 1.0, own)
    near = wanted.astype(np.float32)
    return np.where(near > wanted, np.nextafter(near, np.float32(0)), near)
