# SPDX-License-Identifier: Apache-2.0
"""zCDP and Rényi figures of mu-GDP, and the looser conversions that papers quote.

For comparison only: `gdp.epsilon` is exact and never larger than either conversion.
"""

from __future__ import annotations

import math


def rho(mu: float) -> float:
    """The zero-concentrated DP parameter of mu-GDP."""
    return mu * mu / 2


def renyi_epsilon(mu: float, alpha: float) -> float:
    """The Rényi divergence of order `alpha` that mu-GDP allows."""
    if not alpha >= 1:
        raise ValueError(f"alpha must be >= 1, got {alpha}")
    return alpha * rho(mu)


def epsilon_mironov(rho: float, delta: float) -> float:
    """Mironov (2017), Proposition 3, at its best order: rho + 2 sqrt(rho ln(1/delta)).

    The conversion of DPALS (Chien et al., 2021) and DPLMC (Wang et al., 2023).
    """
    _check(rho, delta)
    return rho + 2 * math.sqrt(rho * -math.log(delta))


def epsilon_cks(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke (2020): the best conversion that knows the Rényi curve alone."""
    _check(rho, delta)
    if rho == 0 or math.isinf(rho):
        return rho
    log_inverse = -math.log(delta)
    # The best order solves (alpha - 1)^2 rho = ln(1/delta) - ln(alpha); any order is a valid bound.
    low, high = 0.0, math.sqrt(log_inverse / rho)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle * middle * rho > log_inverse - math.log1p(middle):
            high = middle
        else:
            low = middle
    alpha = 1 + high
    bound = alpha * rho + (log_inverse - math.log(alpha)) / high + math.log(high / alpha)
    return max(0.0, bound)


def _check(rho: float, delta: float) -> None:
    if not rho >= 0:
        raise ValueError(f"rho must be >= 0, got {rho}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
