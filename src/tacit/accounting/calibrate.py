# SPDX-License-Identifier: Apache-2.0
"""The least noise that keeps a plan within its budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.accounting import gdp
from tacit.accounting.composition import noise_budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from tacit.accounting.release import Plan

# How far below the target a subsampled plan may stay; its epsilon is a numerical estimate.
_SUBSAMPLED_TOLERANCE = 1e-4


def calibrate(plan: Plan, epsilon: float, delta: float, relative_error: float = 0.0) -> Plan:
    """The plan with every noise std multiplied by one factor, so that it meets (epsilon, delta).

    An infinite epsilon takes all noise away.

    Guarantee:
        `result.epsilon(delta, relative_error) <= epsilon` always, numerical part included, and
        within 1e-9 of it (1e-4 where a release is subsampled or a posterior sample).
        Proof: proofs/accounting.md.
    """
    _checked(epsilon, delta)
    if math.isinf(epsilon):
        return plan.scaled(0.0)
    _can_be_private(plan)
    left, delta_left = noise_budget(plan.releases, epsilon, delta, relative_error)
    if left <= 0 or delta_left == 0:
        raise ValueError(
            f"the numerical part of epsilon, {epsilon - left:.3g}, already reaches the target "
            f"{epsilon:g}: raise epsilon, release fewer numbers or use a coarser grid"
        )
    factor = plan.mu / gdp.mu(left, delta_left)
    if plan.subsampled or plan.posterior:
        factor = _subsampled_factor(
            epsilon, factor, lambda f: plan.scaled(f).epsilon(delta, relative_error)
        )
    step = 2.0**-51
    while not (scaled := plan.scaled(factor)).epsilon(delta, relative_error) <= epsilon:
        factor *= 1 + step
        step *= 2
    return scaled


def default_delta(n_users: int) -> float:
    """The largest power of ten that is at most 1 / (10 n_users).

    >>> default_delta(6040)
    1e-05
    """
    if n_users < 1:
        raise ValueError(f"n_users must be at least 1, got {n_users}")
    digits = len(str(10 * n_users - 1))
    return float(f"1e-{digits}")


def _checked(epsilon: float, delta: float) -> None:
    if not epsilon > 0:
        raise ValueError(f"epsilon must be > 0, got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")


def _can_be_private(plan: Plan) -> None:
    for release in plan.releases:
        if release.std == 0:
            raise ValueError(
                f"release {release.name!r} has std 0: there is no noise to scale, so only "
                "epsilon=math.inf is possible"
            )
    if not math.isfinite(plan.mu) or plan.mu == 0:
        raise ValueError("the plan's stds are too small or too large to scale: state others")


def _subsampled_factor(epsilon: float, start: float, spent: Callable[[float], float]) -> float:
    """A factor that spends epsilon up to the tolerance: secant steps in log-log, kept bracketed.

    start: the factor that would do without sampling.
    """
    low, high = 0.0, math.inf
    factor, slope, before = start, -1.5, (math.nan, math.nan)
    aim = epsilon * (1 - _SUBSAMPLED_TOLERANCE / 2)
    while high > low * (1 + 1e-9):
        now = spent(factor)
        if aim - (epsilon - aim) <= now <= epsilon:
            return factor
        low, high = (low, factor) if now <= epsilon else (factor, high)
        x, y = math.log(factor), math.log(max(now, 1e-9 * aim) / aim)
        secant = (y - before[1]) / (x - before[0])
        slope = secant if -1e3 < secant < -0.1 else slope
        before = (x, y)
        factor = math.exp(x - y / slope) if abs(y / slope) < 10 else math.nan
        if not low * (1 + 1e-10) < factor < high * (1 - 1e-10):
            factor = math.sqrt(max(low, math.exp(x) / 4) * min(high, 4 * math.exp(x)))
    return high
