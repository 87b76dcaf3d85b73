# SPDX-License-Identifier: Apache-2.0
"""Gaussian differential privacy: exact conversion between mu, epsilon and delta.

With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2 the curve of a mu-GDP mechanism is

    delta = Phi(-a) - e^epsilon Phi(-b) = phi(a) (M(a) - M(b)),    M(x) = Phi(-x) / phi(x),

because e^epsilon phi(b) = phi(a). The second form neither overflows nor subtracts large numbers;
M is the Mills ratio, a scaled erfcx. Derivatives: d delta/d mu = phi(a), and
d delta/d epsilon = -phi(a) M(b). All three functions agree with 60-digit arithmetic to 1e-10.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, log_expit, ndtr, ndtri, ndtri_exp

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT_2 = math.sqrt(2.0)
_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
# Below this mu the difference of Mills ratios is integrated instead of subtracted.
_SMALL_MU = 0.5
_QUADRATURE = tuple(zip(*(x.tolist() for x in np.polynomial.legendre.leggauss(16)), strict=True))
# From here on the asymptotic series of -M' is more exact than 1 - x M(x).
_FAR = 15.0
_SERIES = tuple((-1) ** k * math.prod(range(1, 2 * k + 2, 2)) for k in range(13))


def delta(epsilon: float, mu: float) -> float:
    """The smallest delta for which mu-GDP gives (epsilon, delta)-DP.

    >>> round(delta(1.0, 1.0), 6)
    0.126937
    """
    _check(epsilon, mu=mu)
    return math.exp(_log_delta(epsilon, mu))


def epsilon(delta: float, mu: float) -> float:
    """The smallest epsilon for which mu-GDP gives (epsilon, delta)-DP, rounded up, never down.

    >>> round(epsilon(1e-5, 0.26805), 4)
    1.0
    """
    _check(0.0, mu=mu, delta=delta)
    if mu == 0 or delta == 1:
        return 0.0
    if delta == 0 or math.isinf(mu):
        return math.inf
    target = math.log(delta)
    if _upper(0.0, mu) <= target:
        return 0.0
    top = mu * mu / 2 + mu * math.sqrt(-2 * target)
    if math.isinf(top):
        return math.inf

    def newton(x: float) -> tuple[float, float]:
        a, b = x / mu - mu / 2, x / mu + mu / 2
        return target - _log_delta(x, mu), _mills(b) / _mills_gap(a, mu)

    found = _root(newton, 0.0, 2 * top)
    return _rounded(found, 1.0, lambda x: _upper(x, mu) <= target)


def mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP gives (epsilon, delta)-DP, rounded down, never up.

    >>> round(mu(1.0, 1e-5), 5)
    0.26805
    """
    _check(epsilon, delta=delta)
    if math.isinf(epsilon) or delta == 1:
        return math.inf
    if delta == 0:
        return 0.0
    target = math.log(delta)

    def newton(x: float) -> tuple[float, float]:
        value = math.exp(x)
        gap = _mills_gap(epsilon / value - value / 2, value)
        return _log_delta(epsilon, value) - target, value / gap

    root = math.sqrt(-2 * target)
    # Two safe lower bounds: zCDP's conversion, and delta <= mu / sqrt(2 pi) at epsilon = 0.
    low = 2 * epsilon / (math.hypot(math.sqrt(2 * epsilon), root) + root) if epsilon else 0.0
    low = math.log(max(low, delta * math.sqrt(2 * math.pi)) * (1 - 1e-9))
    high = low + 1
    while _log_delta(epsilon, math.exp(high)) < target:
        high += 1
    found = math.exp(_root(newton, low, high))
    return _rounded(found, -1.0, lambda x: _upper(epsilon, x) <= target)


def mu_of_pure(epsilon: float) -> float:
    """The smallest mu for which every epsilon-DP (delta = 0) mechanism is mu-GDP, rounded up.

    The two trade-off curves touch where false alarms and misses are both 1 / (1 + e^epsilon).

    >>> round(mu_of_pure(1.0), 3)
    1.232
    """
    _check(epsilon)
    return -2 * float(ndtri_exp(float(log_expit(-epsilon)))) * (1 + 2.0**-40)


def power(level: float, mu: float) -> float:
    """The best power of a test at this false-alarm level between two mu-GDP outputs.

    >>> round(power(0.05, 1.0), 4)
    0.2595
    """
    if not 0 <= level <= 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    _check(0.0, mu=mu)
    return float(ndtr(float(ndtri(level)) + mu)) if 0 < level < 1 else level


def _log_delta(epsilon: float, mu: float) -> float:
    """Log of delta(epsilon, mu), finite far below the smallest positive float."""
    if mu == 0 or math.isinf(epsilon):
        return -math.inf
    if math.isinf(mu):
        return 0.0
    ratio = epsilon / mu
    a = ratio - mu / 2
    if a > 1e150:  # a * a would overflow; the exact value is below -1e299
        return -math.inf
    if a > 0 or mu < _SMALL_MU:
        return -0.5 * a * a - _LOG_ROOT_2PI + math.log(_mills_gap(a, mu))
    second = math.exp(-0.5 * a * a - _LOG_ROOT_2PI) * _mills(ratio + mu / 2)
    return math.log(float(ndtr(-a)) - second)


def _mills(x: float) -> float:
    return _ROOT_HALF_PI * float(erfcx(x / _ROOT_2))


def _mills_gap(a: float, mu: float) -> float:
    """M(a) - M(a + mu), by integrating -M' where subtracting would cancel."""
    if mu >= _SMALL_MU:
        return _mills(a) - _mills(a + mu)
    total: float = sum(w * _mills_slope(a + mu / 2 * (1 + z)) for z, w in _QUADRATURE)
    return mu / 2 * total


def _mills_slope(x: float) -> float:
    """-M'(x) = 1 - x M(x)."""
    if x < _FAR:
        return 1.0 - x * _mills(x)
    inverse = 1.0 / (x * x)
    total = 0.0
    for coefficient in reversed(_SERIES):
        total = total * inverse + coefficient
    return total * inverse


def _upper(epsilon: float, mu: float) -> float:
    """`_log_delta` plus a bound on its rounding error, checked against 60 digits in the tests."""
    value, ratio = _log_delta(epsilon, mu), epsilon / mu
    slack = 8.0 + abs(ratio - mu / 2) * (ratio + mu / 2) + abs(value)
    return value + 2e-15 * slack


def _root(f: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """The zero of an increasing f on [low, high]: Newton's steps, bisection where they leave."""
    x = (low + high) / 2
    for _ in range(200):
        value, slope = f(x)
        low, high = (x, high) if value < 0 else (low, x)
        step = x - value / slope if math.isfinite(slope) and slope > 0 else math.nan
        following = step if low <= step <= high else (low + high) / 2
        if abs(following - x) <= 4e-16 * abs(x):
            return following
        x = following
    return x


def _rounded(x: float, direction: float, safe: Callable[[float], bool]) -> float:
    """The first safe value at or beyond x, found by steps that double from one ulp."""
    step = 2.0**-53
    while not safe(x):
        x *= 1.0 + direction * step
        step *= 2.0
    return x


def _check(epsilon: float, *, mu: float = 0.0, delta: float = 0.5) -> None:
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be >= 0, got {epsilon}")
    if not mu >= 0:
        raise ValueError(f"mu must be >= 0, got {mu}")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
