# SPDX-License-Identifier: Apache-2.0
"""The Gaussian-DP conversions against 60-digit arithmetic."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import gdp

EPSILONS = [float(x) for x in np.geomspace(1e-3, 200, 34)]
DELTAS = [float(x) for x in np.geomspace(1e-12, 0.1, 23)]
RELATIVE = 1e-10


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


def exact_delta(epsilon, mu):
    epsilon, mu = mp.mpf(epsilon), mp.mpf(mu)
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    root = mp.sqrt(2)
    return (mp.erfc(a / root) - mp.exp(epsilon) * mp.erfc(b / root)) / 2


def exact_mu(epsilon, delta, near):
    """Newton's step doubles the digits each time: two from a float reach far beyond 1e-10."""
    mu = mp.mpf(near)
    for _ in range(3):
        a = mp.mpf(epsilon) / mu - mu / 2
        mu += (mp.mpf(delta) - exact_delta(epsilon, mu)) / mp.npdf(a)
    assert abs(exact_delta(epsilon, mu) / mp.mpf(delta) - 1) < mp.mpf(10) ** -30
    return mu


def exact_epsilon(delta, mu, near):
    epsilon, mu = mp.mpf(near), mp.mpf(mu)
    for _ in range(3):
        b = epsilon / mu + mu / 2
        slope = mp.exp(epsilon) * mp.ncdf(-b)
        epsilon += (exact_delta(epsilon, mu) - mp.mpf(delta)) / slope
    assert abs(exact_delta(epsilon, mu) / mp.mpf(delta) - 1) < mp.mpf(10) ** -30
    return epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_all_three_functions_are_right_to_ten_digits_on_a_dense_grid(epsilon):
    for delta in DELTAS:
        mu = gdp.mu(epsilon, delta)
        assert abs(mu / exact_mu(epsilon, delta, mu) - 1) < RELATIVE
        assert abs(gdp.delta(epsilon, mu) / exact_delta(epsilon, mu) - 1) < RELATIVE
        back = gdp.epsilon(delta, mu)
        assert abs(back / exact_epsilon(delta, mu, back) - 1) < RELATIVE


@pytest.mark.parametrize("epsilon", EPSILONS[::3])
def test_inverses_err_to_the_safe_side_in_exact_arithmetic(epsilon):
    for delta in DELTAS:
        mu = gdp.mu(epsilon, delta)
        assert exact_delta(epsilon, mu) <= delta
        assert gdp.delta(epsilon, mu) <= delta
        for other in (mu, 1.37 * mu):
            assert exact_delta(gdp.epsilon(delta, other), other) <= delta


@given(
    st.floats(0, 500), st.floats(1e-290, 1, exclude_max=True), st.floats(1e-12, 40), st.floats(0, 1)
)
def test_inverses_err_to_the_safe_side_anywhere(epsilon, delta, mu, other_delta):
    assert gdp.delta(epsilon, gdp.mu(epsilon, delta)) <= delta
    assert gdp.delta(gdp.epsilon(other_delta, mu), mu) <= other_delta


TAILS = [
    (mu, a)
    for mu in (1e-8, 1e-3, 0.1, 0.4999999, 0.5, 2.0, 30.0, 100.0)
    for a in (-3.0, -1e-3, 0.0, 1.0, 14.9, 15.1, 60.0, 1e4)
    if a >= -mu / 2
]


@pytest.mark.parametrize(("mu", "a"), TAILS)
def test_the_stated_rounding_error_of_log_delta_holds_deep_in_the_tails(mu, a):
    epsilon = mu * (a + mu / 2)
    exact = mp.log(exact_delta(epsilon, mu))
    value = gdp._log_delta(epsilon, mu)
    assert abs(value - exact) < (gdp._upper(epsilon, mu) - value) / 2


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1.0, 1e5])
def test_extreme_values_neither_overflow_nor_lie(epsilon):
    assert gdp.delta(epsilon, 0.0) == 0.0
    assert gdp.delta(epsilon, math.inf) == 1.0
    assert gdp.delta(math.inf, 3.0) == 0.0
    assert gdp.mu(epsilon, 0.0) == 0.0
    assert gdp.mu(epsilon, 1.0) == math.inf
    assert gdp.mu(math.inf, 0.1) == math.inf


def test_limits_of_epsilon():
    assert gdp.epsilon(0.0, 1.0) == math.inf
    assert gdp.epsilon(1.0, 1.0) == 0.0
    assert gdp.epsilon(1e-5, 0.0) == 0.0
    assert gdp.epsilon(1e-5, math.inf) == math.inf
    assert gdp.epsilon(1e-5, 1e200) == math.inf
    assert gdp.epsilon(0.5, 1.0) == 0.0  # delta at epsilon 0 is 0.383 already
    assert gdp.epsilon(1e-5, 1e5) == pytest.approx(5e9, rel=1e-3)


def test_limits_of_mu_and_delta():
    assert gdp.mu(0.0, 1e-5) == pytest.approx(1e-5 * math.sqrt(2 * math.pi), rel=1e-9)
    assert gdp.mu(1e300, 1e-5) == pytest.approx(math.sqrt(2e300), rel=1e-9)
    assert gdp.delta(1.0, 1e-300) == 0.0
    assert gdp.delta(1e300, 1e160) == 1.0
    assert gdp.delta(0.0, 1.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gdp.delta(-1.0, 1.0), "epsilon"),
        (lambda: gdp.delta(math.nan, 1.0), "epsilon"),
        (lambda: gdp.delta(1.0, -1.0), "mu"),
        (lambda: gdp.delta(1.0, math.nan), "mu"),
        (lambda: gdp.epsilon(1.5, 1.0), "delta"),
        (lambda: gdp.epsilon(math.nan, 1.0), "delta"),
        (lambda: gdp.mu(-1.0, 0.1), "epsilon"),
        (lambda: gdp.mu(1.0, -0.1), "delta"),
        (lambda: gdp.power(1.5, 1.0), "level"),
    ],
)
def test_arguments_outside_their_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_power_of_the_best_test():
    expected = mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * mp.mpf("0.05") - 1) + 1)
    assert gdp.power(0.05, 1.0) == pytest.approx(float(expected), rel=1e-12)
    assert gdp.power(0.05, 0.0) == pytest.approx(0.05, rel=1e-12)
    assert gdp.power(0.05, math.inf) == 1.0
    assert gdp.power(0.0, 1.0) == 0.0
