# SPDX-License-Identifier: Apache-2.0
"""How many factors stand above the noise: what recipes follow from, public quantities alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.accounting.public import Public

MOST_FACTORS = 32
LEAST_STRENGTH = 40.0  # below it factors drown in noise


def strength(public: Public) -> float:
    """N mu / sqrt(m): the signal of a factor is a sum over n users, its noise that of m numbers."""
    return public.n_users * public.mu / math.sqrt(public.n_items)


def usual_rank(public: Public, asked: int | None) -> int:
    """The rank that was asked for, else as many factors as pay; at most one for each item."""
    found = 0
    if (s := strength(public)) >= LEAST_STRENGTH:
        found = round(min(MOST_FACTORS, 0.65 * math.sqrt(s)))
    return min(found if asked is None else asked, public.n_items)
