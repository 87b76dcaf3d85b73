# SPDX-License-Identifier: Apache-2.0
"""A small made-up world to attack a solver in, with a canary who weighs as much as anybody may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.accounting.public import Public
from tacit.audit.canary import Audit, audit
from tacit.data.block import UserBlock

if TYPE_CHECKING:
    from tacit.accounting.release import Plan
    from tacit.solvers.base import Solver

N_OTHERS, N_ITEMS, LOW, HIGH = 59, 30, 1.0, 5.0

# In so small a world recipes leave factors out, and user factors stay far below their bound. With
# these settings, by the names of the algorithms, the canary weighs as much as anybody may.
AT_THE_BOUND: dict[str, dict[str, Any]] = {
    "als": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "factor_bound": 0.2},
    "frank-wolfe": {"steps": 3, "offset_share": 0.0},
    "gradient": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "alpha_1": 0.1},
    "langevin": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "factor_bound": 0.2},
    "projected-gradient": {"steps": 1, "rank": 1, "row_bound": 1.0, "offset_share": 0.0},
    "svd": {"offset_share": 0.0},
}


def attacked(
    solver: Solver,
    *,
    mu: float,
    runs: int,
    users: UserBlock | None = None,
    her: UserBlock | None = None,
) -> Audit:
    """The attack on this solver at a budget of mu, with so many trainings with and without her.

    Raises:
        ValueError: the solver's plan has something other than noisy sums over all users.
    """
    users, her = users or crowd(), her or canary()
    n_users = users.n_users + 1
    public = Public(n_users=n_users, n_items=N_ITEMS, low=LOW, high=HIGH, mu=mu)
    plan = scaled_to(mu, solver.plan(public))
    return audit(solver, users, her, plan, public, runs=runs)


def scaled_to(mu: float, plan: Plan) -> Plan:
    """The plan with noise for mu in all; refused where the attack knows no law."""
    if any(release.posterior or release.sample_rate < 1 for release in plan.releases):
        raise ValueError("the attack is on noisy sums over all users, not on samples or chains")
    return plan.scaled(plan.mu / mu)


def crowd(seed: int = 20260801) -> UserBlock:
    """All users but the canary, of all tastes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 15, N_OTHERS)
    items = [np.sort(rng.permutation(N_ITEMS)[:size]) for size in sizes]
    return UserBlock(
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items=np.concatenate(items).astype(np.int32),
        values=rng.integers(int(LOW), int(HIGH) + 1, sizes.sum()).astype(np.float32),
        n_items=N_ITEMS,
    )


def canary() -> UserBlock:
    """She rates as far from her own mean as the scale allows, on few items: at every bound."""
    items = np.arange(6, dtype=np.int32)
    values = np.where(items % 2, LOW, HIGH).astype(np.float32)
    return UserBlock(np.array([0, 6]), items, values, N_ITEMS)


def alike(n: int = 2_000) -> UserBlock:
    """Many users who rate as the canary does: products soon turn to her direction."""
    her = canary()
    indptr = np.arange(n + 1, dtype=np.int64) * len(her.items)
    return UserBlock(indptr, np.tile(her.items, n), np.tile(her.values, n), N_ITEMS)
