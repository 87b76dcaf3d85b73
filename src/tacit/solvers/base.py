# SPDX-License-Identifier: Apache-2.0
"""What every algorithm is: a plan declared before data is seen, and a loop over noisy sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.folding import UserStep
    from tacit.mechanisms.curator import Curator


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What a solver hands over: all of it post-processing of what the curator answered."""

    item_factors: NDArray[np.float32]
    item_offsets: NDArray[np.float32]
    user_step: UserStep


class Solver(Protocol):
    """A frozen dataclass of hyper-parameters."""

    def plan(self, public: Public) -> Plan:
        """Every release, with its share of mu^2; calibration then scales the noise of all alike."""
        ...

    def fit(self, curator: Curator) -> Learned:
        """Train. Sees raw data through `curator.noisy_sum` only."""
        ...
