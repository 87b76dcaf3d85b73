# SPDX-License-Identifier: Apache-2.0
"""A curator without data: it charges its ledger like the real one and answers zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.mechanisms.curator import charged, charged_sample
from tacit.mechanisms.ledger import Ledger
from tacit.mechanisms.unprotected import raw_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.contributions.base import Contribution
    from tacit.mechanisms.curator import NoisySums, Result
    from tacit.mechanisms.posterior import Posterior
    from tacit.mechanisms.unprotected import RawComputation


class Rehearsal:
    """For dry runs: a solver that runs through it shows whether its ledger equals its plan."""

    def __init__(self, public: Public, plan: Plan) -> None:
        self.public = public
        self.plan = plan
        self.ledger = Ledger(plan)

    def noisy_sum(self, contribution: Contribution, release: str) -> NoisySums:
        costs = charged(self.ledger, contribution, release, self.public.n_users)
        return {part.name: np.zeros(part.shape) for part, _ in costs}

    def posterior_sample(
        self,
        target: Posterior,
        release: str,
        steps: int,  # noqa: ARG002 - of a chain that is not run
    ) -> NDArray[np.float64]:
        charged_sample(self.ledger, target, release)
        return np.zeros((target.n_items, target.rank))

    def raw_result(self, computation: RawComputation[Result], release: str) -> Result:
        self.ledger.charge([raw_cost(self.plan, release)])
        return computation.rehearsed(self.public.n_users, self.public.n_items)
