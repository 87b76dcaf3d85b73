# SPDX-License-Identifier: Apache-2.0
"""zCDP and Rényi figures, and that each conversion is as loose as it is said to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import gdp, renyi


def test_rho_and_renyi_curve():
    assert renyi.rho(3.0) == 4.5
    assert renyi.renyi_epsilon(3.0, 1.0) == 4.5
    assert renyi.renyi_epsilon(2.0, 32.0) == 64.0


@given(st.floats(0.01, 6), st.floats(1e-12, 0.01))
def test_conversions_are_ordered_from_exact_to_loose(mu, delta):
    exact = gdp.epsilon(delta, mu)
    cks = renyi.epsilon_cks(renyi.rho(mu), delta)
    assert exact <= cks * (1 + 1e-9) + 1e-12
    assert cks < renyi.epsilon_mironov(renyi.rho(mu), delta)


@given(st.floats(0.01, 6), st.floats(1e-12, 0.01))
def test_mironov_is_the_minimum_over_orders(mu, delta):
    orders = 1 + np.geomspace(1e-3, 1e5, 20_001)
    by_order = orders * mu**2 / 2 + math.log(1 / delta) / (orders - 1)
    assert renyi.epsilon_mironov(renyi.rho(mu), delta) == pytest.approx(by_order.min(), rel=1e-5)


@pytest.mark.parametrize(
    ("mu_squared", "delta", "printed"),
    [
        (100 * (15.5**-2 + 7.7**-2) + 4 * 50 / 10**2, 1e-5, "10.894"),
        (61 / 64**2 + 60 / 64**2 + 2 * 60 / 100**2, 1 / 136_677, "0.826"),
        (100 * (29**-2 + 14.5**-2) + 4 * 50 / 200**2, 1e-5, "3.533"),
    ],
)
def test_cks_is_what_dp_accounting_reports(mu_squared, delta, printed):
    """Three plans of Table 4; privacy.md section 0 prints what default, sparse orders give."""
    rdp = mu_squared / 2
    cks = renyi.epsilon_cks(rdp, delta)
    sparse = np.array(rdp_privacy_accountant.DEFAULT_RDP_ORDERS, float)
    default, _ = rdp_privacy_accountant.compute_epsilon(sparse, sparse * rdp, delta)
    assert f"{default:.3f}" == printed
    assert cks <= default
    fine = 1 + np.geomspace(0.1, 1000, 20_001)
    best, _ = rdp_privacy_accountant.compute_epsilon(fine, fine * rdp, delta)
    assert cks == pytest.approx(best, rel=1e-7)


def test_no_release_and_no_noise():
    assert renyi.epsilon_cks(0.0, 1e-5) == 0.0
    assert renyi.epsilon_cks(math.inf, 1e-5) == math.inf
    assert renyi.epsilon_mironov(0.0, 1e-5) == 0.0
    assert renyi.epsilon_mironov(math.inf, 1e-5) == math.inf


@pytest.mark.parametrize("convert", [renyi.epsilon_mironov, renyi.epsilon_cks])
@pytest.mark.parametrize(("rho", "delta"), [(-1.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_arguments_must_make_sense(convert, rho, delta):
    with pytest.raises(ValueError, match="must be"):
        convert(rho, delta)


def test_renyi_order_must_be_at_least_1():
    with pytest.raises(ValueError, match="alpha"):
        renyi.renyi_epsilon(1.0, 0.5)
