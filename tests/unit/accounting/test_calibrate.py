# SPDX-License-Identifier: Apache-2.0
"""Calibration: never above the target, and no noise beyond what it needs."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.calibrate import _subsampled_factor, calibrate, default_delta
from tacit.accounting.release import Plan, Release

SHARES = Plan(
    (
        Release.share("means", l2=1.5, share=0.1, size=4000),
        Release.share("gram", l2=1.0, share=0.2, times=3, size=36, cone=True),
        Release.share("rhs", l2=2.0, share=0.7, times=3, size=32_000, partner="gram"),
    )
)
SAMPLED = Plan((Release("g", 1.0, 1.0, 300, sample_rate=0.05), Release("h", 1.0, 4.0, 2)))

plans = st.lists(
    st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 1000)),
    min_size=1,
    max_size=6,
).map(lambda rows: Plan(tuple(Release(str(i), *row) for i, row in enumerate(rows))))


@given(plans, st.floats(1e-3, 200), st.floats(1e-12, 0.1))
def test_never_above_the_target_and_close_below_it(plan, epsilon, delta):
    spent = calibrate(plan, epsilon, delta).epsilon(delta)
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


@given(plans, st.floats(1e-9, 1e4), st.floats(1e-100, 0.999), st.floats(0, 1e-12))
def test_never_above_the_target_anywhere(plan, epsilon, delta, relative_error):
    try:
        result = calibrate(plan, epsilon, delta, relative_error)
    except ValueError as error:
        assert "numerical part" in str(error)  # noqa: PT017  (a refusal is the other right answer)
        return
    assert result.epsilon(delta, relative_error) <= epsilon


@given(plans, st.floats(1e-3, 200), st.floats(1e-12, 0.1))
def test_never_above_the_target_in_exact_arithmetic(plan, epsilon, delta):
    result = calibrate(plan, epsilon, delta)
    with mp.workdps(60):
        mu = mp.sqrt(sum(r.times * (mp.mpf(r.l2) / mp.mpf(r.std)) ** 2 for r in result.releases))
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        root = mp.sqrt(2)
        assert (mp.erfc(a / root) - mp.exp(epsilon) * mp.erfc(b / root)) / 2 <= delta


def test_one_factor_scales_every_std():
    result = calibrate(SHARES, 2.0, 1e-6)
    factors = {new.std / old.std for new, old in zip(result.releases, SHARES.releases, strict=True)}
    assert max(factors) == pytest.approx(min(factors), rel=1e-14)
    for new, old in zip(result.releases, SHARES.releases, strict=True):
        assert new.mu_squared / result.mu**2 == pytest.approx(old.mu_squared, rel=1e-12)


def test_shares_are_shares_of_mu_squared():
    assert [r.mu_squared for r in SHARES.releases] == pytest.approx([0.1, 0.2, 0.7], rel=1e-14)


def test_the_numerical_part_is_paid_for_with_noise():
    exact = calibrate(SHARES, 1.0, 1e-6)
    inexact = calibrate(SHARES, 1.0, 1e-6, relative_error=1e-7)
    numbers = 4000 + 3 * 36 + 3 * 32_000
    assert inexact.epsilon(1e-6) == pytest.approx(1.0 - 2e-7 * numbers, abs=1e-2)
    assert inexact.epsilon(1e-6) < exact.epsilon(1e-6) - 1.9e-7 * numbers
    assert inexact.epsilon(1e-6, 1e-7) == pytest.approx(1.0, rel=1e-9)
    assert inexact.epsilon(1e-6, 1e-7) <= 1.0


def test_infinite_epsilon_takes_the_noise_away():
    result = calibrate(SHARES, math.inf, 1e-6, relative_error=1e-9)
    assert [release.std for release in result.releases] == [0.0, 0.0, 0.0]
    assert result.epsilon(1e-6) == math.inf


@pytest.mark.parametrize("epsilon", [0.05, 4.0])
def test_subsampled_plans(epsilon):
    result = calibrate(SAMPLED, epsilon, 1e-6, relative_error=1e-12)
    spent = result.epsilon(1e-6, 1e-12)
    assert epsilon * (1 - 1e-4) <= spent <= epsilon
    unsampled = Plan((Release("g", 1.0, 1.0, 300), Release("h", 1.0, 4.0, 2)))
    assert result["g"].std < calibrate(unsampled, epsilon, 1e-6)["g"].std


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_subsampled_calibration_does_not_depend_on_where_it_starts(factor):
    result = calibrate(SAMPLED.scaled(factor), 1.0, 1e-6)
    assert result["g"].std == pytest.approx(calibrate(SAMPLED, 1.0, 1e-6)["g"].std, rel=3e-4)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, -math.inf])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(ValueError, match="epsilon must be > 0"):
        calibrate(SHARES, epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 2.0, math.nan])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_delta_must_be_a_probability(delta, epsilon):
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        calibrate(SHARES, epsilon, delta)


def test_a_numerical_part_above_the_target_is_refused():
    with pytest.raises(ValueError, match=r"numerical part.*raise epsilon"):
        calibrate(SHARES, 0.01, 1e-6, relative_error=1e-6)


def test_a_plan_without_noise_cannot_be_scaled():
    with pytest.raises(ValueError, match="'means' has std 0"):
        calibrate(SHARES.scaled(0.0), 1.0, 1e-6)


@pytest.mark.parametrize("std", [1e-300, math.inf])
def test_a_plan_with_absurd_noise_cannot_be_scaled(std):
    with pytest.raises(ValueError, match="too small or too large"):
        calibrate(Plan((Release("a", 1e200, std),)), 1.0, 1e-6)


@pytest.mark.parametrize("share", [0.0, -0.5, math.nan])
def test_a_share_must_be_positive(share):
    with pytest.raises(ValueError, match="share must be > 0"):
        Release.share("a", l2=1.0, share=share)


@pytest.mark.parametrize(
    ("n_users", "delta"),
    [
        (1, 0.1),
        (9, 1e-2),
        (10, 1e-2),
        (11, 1e-3),
        (1000, 1e-4),
        (1001, 1e-5),
        (6040, 1e-5),
        (69_878, 1e-6),
        (10**9, 1e-10),
    ],
)
def test_default_delta(n_users, delta):
    assert default_delta(n_users) == delta
    assert delta <= 1 / (10 * n_users) < 10 * delta * (1 + 1e-12)


def test_default_delta_needs_a_user():
    with pytest.raises(ValueError, match="n_users"):
        default_delta(0)


@pytest.mark.parametrize("start", [1e-3, 2.9, 3.0, 1e4])
@pytest.mark.parametrize(
    "spent",
    [
        lambda factor: 2.0 if factor < 3 else 0.5,  # no factor comes close to the target
        lambda factor: 2.0 if factor < 3 else 0.0,
        lambda factor: math.inf if factor < 3 else 0.5,
        lambda factor: 1e300 if factor < 2 else math.exp(3 - factor),
        lambda factor: math.exp(3 - factor),
        lambda factor: (3 / factor) ** 40,
        lambda factor: (3 / factor) ** 0.2,
    ],
)
def test_the_search_ends_on_the_safe_side_of_any_falling_curve(spent, start):
    factor = _subsampled_factor(1.0, start, spent)
    assert spent(factor) <= 1.0
    assert factor == pytest.approx(3.0, rel=1e-3)
