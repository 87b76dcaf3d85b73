# SPDX-License-Identifier: Apache-2.0
"""What every algorithm is: a plan declared before data is seen, and a loop over noisy sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.folding import FoldIn
    from tacit.mechanisms.curator import Curator


class Solver(Protocol):
    """A frozen dataclass of hyper-parameters."""

    def plan(self, public: Public) -> Plan:
        """Every release, with its share of mu^2; calibration then scales the noise of all alike."""
        ...

    def fit(self, curator: Curator) -> FoldIn:
        """Train; the result is all that a user needs to fold in.

        Raw data is seen through `curator.noisy_sum` only, so all else is post-processing.
        """
        ...
