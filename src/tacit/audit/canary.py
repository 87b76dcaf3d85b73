# SPDX-License-Identifier: Apache-2.0
"""The likelihood-ratio attack: was the canary among the users?

The attacker knows every other user and the canary's row, sees every answer of the curator, and
adds up how well each one fits "with the canary" better than "without". For Gaussian noise nobody
can do better, so what he reaches is mu itself: less, and the noise is wasted; more, and the claim
is false.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import Curator, DataCurator
from tacit.mechanisms.entropy import NoiseSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.contributions.base import Contribution, Part
    from tacit.mechanisms.curator import NoisySums
    from tacit.mechanisms.posterior import Posterior
    from tacit.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class Audit:
    """What was claimed, and what the attack made of it.

    claimed: mu, for the canary's own level.
    reached: mu, as the trainings could be told apart.
    error: standard error of `reached`.
    weight: mu that this canary's shares amount to; reached is about this if the noise is as stated.
    """

    claimed: float
    reached: float
    error: float
    weight: float

    @property
    def refuted(self) -> bool:
        """Whether the attack did better than the claim allows, beyond chance."""
        return self.reached > self.claimed + 4 * self.error


def audit(
    solver: Solver, users: UserBlock, canary: UserBlock, plan: Plan, public: Public, *, runs: int
) -> Audit:
    """Train `runs` times with the canary and as often without; see how well the two are told apart.

    `public.n_users` counts the canary's place, which is empty where she is left out.
    """
    (with_her, weights), (without_her, _) = (
        np.array([_score(solver, users, canary, plan, public, present) for _ in range(runs)]).T
        for present in (True, False)
    )
    spread = math.sqrt((np.var(with_her, ddof=1) + np.var(without_her, ddof=1)) / 2)
    reached = float(np.mean(with_her) - np.mean(without_her)) / spread
    level = 1.0 if canary.levels is None else float(canary.levels[0])
    error = math.sqrt(2 / runs + reached**2 / (4 * runs))
    return Audit(level * plan.mu, reached, error, float(np.mean(weights)))


def _score(
    solver: Solver,
    users: UserBlock,
    canary: UserBlock,
    plan: Plan,
    public: Public,
    present: bool,  # noqa: FBT001 - private
) -> tuple[float, float]:
    """The attacker's statistic of one training, N(0, 1) without the canary, N(w, 1) with her; w."""
    engine = LocalThreads(joined(users, canary) if present else users, threads=1)
    attacker = Attacker(DataCurator(engine, public, plan, NoiseSource()), users, canary)
    solver.fit(attacker)
    weight = math.sqrt(attacker.expected)
    return attacker.evidence / weight, weight


class Attacker:
    """Passes questions on to a curator and weighs every answer."""

    def __init__(self, curator: Curator, others: UserBlock, canary: UserBlock) -> None:
        self.public, self.plan = curator.public, curator.plan
        self.evidence = 0.0
        self.expected = 0.0
        self._curator, self._others, self._canary = curator, others, canary

    def noisy_sum(self, contribution: Contribution, release: str) -> NoisySums:
        answer = self._curator.noisy_sum(contribution, release)
        share, rest = contribution(self._canary), contribution(self._others)
        for part in contribution.parts:
            planned = self.plan[f"{release}.{part.name}"]
            std = planned.std / planned.l2 * part.limit
            weight = norm_weights(part) / std**2
            excess = answer[part.name] / part.step - rest[part.name]
            self.evidence += float(np.sum(weight * excess * share[part.name]))
            self.expected += float(np.sum(weight * share[part.name].astype(np.float64) ** 2))
        return answer

    def posterior_sample(self, target: Posterior, release: str, steps: int) -> NDArray[np.float64]:
        """Not attacked: what a chain reveals has no known law."""
        return self._curator.posterior_sample(target, release, steps)


def norm_weights(part: Part) -> NDArray[np.float64]:
    """What each entry counts in the squared norm: twice off the diagonal of a symmetric part."""
    if not part.symmetric:
        return np.ones(part.shape[-1:])
    rank = math.isqrt(2 * part.shape[-1])
    weights = np.full(part.shape[-1:], 2.0)
    weights[np.cumsum([0, *range(rank, 1, -1)])] = 1.0
    return weights


def joined(users: UserBlock, more: UserBlock) -> UserBlock:
    """Both blocks' users, each at her own level."""
    levels = None
    if users.levels is not None or more.levels is not None:
        levels = np.concatenate([levels_of(users), levels_of(more)])
    return UserBlock(
        np.concatenate([users.indptr, users.indptr[-1] + more.indptr[1:]]),
        np.concatenate([users.items, more.items]),
        np.concatenate([users.values, more.values]),
        users.n_items,
        levels,
    )


def levels_of(users: UserBlock) -> NDArray[np.float32]:
    """Each user's level, 1 where nobody declared one."""
    return np.ones(users.n_users, np.float32) if users.levels is None else users.levels
