# SPDX-License-Identifier: Apache-2.0
"""What a solver may know for free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Public:
    """Facts that are public by assumption, plus the asked budget.

    Hyper-parameters may follow from all of them.

    feedback: how the ratings were declared when they were read.
    mu: the whole budget as Gaussian-DP; infinite where nothing is private.
    """

    n_users: int
    n_items: int
    low: float
    high: float
    mu: float
    feedback: Literal["explicit", "implicit"] = "explicit"

    @property
    def width(self) -> float:
        """Of the rating scale."""
        return self.high - self.low
