# SPDX-License-Identifier: Apache-2.0
"""A curator without data: it charges its ledger like the real one and answers zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.mechanisms.curator import check_grid, planned_release
from tacit.mechanisms.ledger import Ledger

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.contributions.base import Contribution
    from tacit.mechanisms.curator import NoisySums


class Rehearsal:
    """For dry runs: a solver that runs through it shows whether its ledger equals its plan."""

    def __init__(self, public: Public, plan: Plan) -> None:
        self.public = public
        self.plan = plan
        self.ledger = Ledger(plan)

    def noisy_sum(self, contribution: Contribution, release: str) -> NoisySums:
        parts = contribution.parts
        costs = [planned_release(self.plan, part, f"{release}.{part.name}") for part in parts]
        for part, cost in zip(parts, costs, strict=True):
            check_grid(part, cost, self.public.n_users)
        self.ledger.charge(costs)
        return {part.name: np.zeros(part.shape) for part in parts}
