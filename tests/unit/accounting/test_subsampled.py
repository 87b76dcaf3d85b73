# SPDX-License-Identifier: Apache-2.0
"""Privacy loss distributions: agreement with exact Gaussian DP, and plans with sampling."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution

from tacit.accounting import gdp, subsampled
from tacit.accounting.release import Plan, Release

PLANS = {
    "ML-10M 10 of DPALS": Plan(
        (
            Release("gram", math.sqrt(50), 15.5, 2, cone=True),
            Release("rhs", math.sqrt(50), 7.7, 2, partner="gram"),
            Release("counts", math.sqrt(50), 10.0, 2, cone=True),
            Release("mean", 50.0, math.sqrt(50) * 10, 2),
        )
    ),
    "one light release": Plan((Release("a", 1.0, 40.0),)),
    "many small steps": Plan((Release("a", 1.0, 30.0, 500), Release("b", 2.0, 9.0, 3))),
    "hardly private": Plan((Release("a", 1.0, 0.2),)),
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("delta", [1e-5, 1e-8])
def test_exact_figures_agree_with_dp_accounting(name, delta):
    plan = PLANS[name]
    loss = None
    for release in plan.releases:
        part = privacy_loss_distribution.from_gaussian_mechanism(
            release.std, release.l2, value_discretization_interval=2e-4
        ).self_compose(release.times)
        loss = part if loss is None else loss.compose(part)
    theirs = loss.get_epsilon_for_delta(delta)
    ours = plan.epsilon(delta)
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert ours <= theirs * (1 + 1e-9)


def sampled(times, rate, std, l2=1.0):
    return Release(f"sampled {rate} {std}", l2, std, times, sample_rate=rate)


def test_one_sampled_release_equals_its_closed_form():
    """For one release both directions have a closed form: the hockey-stick of a mixture."""
    rate, std, epsilon = 0.2, 0.8, 1.1
    gain = math.log1p(math.expm1(epsilon) / rate)
    remove = rate * gdp.delta(gain, 1 / std)
    plan = Plan((sampled(1, rate, std),))
    assert plan.epsilon(remove) == pytest.approx(epsilon, rel=1e-4)
    x = np.linspace(-12, 12, 400_001)
    base = np.exp(-0.5 * (x / std) ** 2)
    mixed = (1 - rate) * base + rate * np.exp(-0.5 * ((x - 1) / std) ** 2)
    scale = (x[1] - x[0]) / (std * math.sqrt(2 * math.pi))
    assert np.maximum(mixed - math.exp(epsilon) * base, 0).sum() * scale == pytest.approx(
        remove, rel=1e-6
    )
    assert np.maximum(base - math.exp(epsilon) * mixed, 0).sum() * scale <= remove


def test_sampling_composes_with_full_releases():
    """A tiny sampled part leaves the full part's figure; both together cost more than either."""
    full = Release("full", 1.0, 2.0, 2)
    alone = Plan((full,)).epsilon(1e-6)
    faint = Plan((full, sampled(1, 1e-3, 50.0))).epsilon(1e-6)
    assert faint == pytest.approx(alone, rel=1e-4)
    busy = sampled(200, 0.05, 1.0)
    together = Plan((busy, full)).epsilon(1e-6)
    assert max(alone, Plan((busy,)).epsilon(1e-6)) < together
    assert together <= Plan((busy, full)).epsilon_replace(1e-6)


def test_rate_near_1_is_the_full_release():
    assert Plan((sampled(3, 1 - 1e-9, 2.0),)).epsilon(1e-5) == pytest.approx(
        Plan((Release("a", 1.0, 2.0, 3),)).epsilon(1e-5), rel=1e-4
    )


def test_sampling_never_costs_more_than_none():
    for std in (0.5, 50.0):
        plan = Plan((sampled(10, 0.9, std),))
        full = Plan((Release("a", 1.0, std, 10),))
        assert plan.epsilon(1e-5) <= full.epsilon(1e-5)
        assert plan.epsilon_replace(1e-5) <= full.epsilon_replace(1e-5)


def test_replace_one_covers_the_opposite_pair():
    """Two users whose shares point in opposite directions: the pair dp-accounting analyses."""
    rate, std, times, delta = 0.05, 2.0, 400, 1e-5
    opposite = (
        privacy_loss_distribution.from_gaussian_mechanism(
            std,
            sampling_prob=rate,
            neighboring_relation=NeighboringRelation.REPLACE_ONE,
            value_discretization_interval=1e-3,
            pessimistic_estimate=False,
            use_connect_dots=False,
        )
        .self_compose(times)
        .get_epsilon_for_delta(delta)
    )
    assert Plan((sampled(times, rate, std),)).epsilon_replace(delta) >= opposite


def test_replace_one_falls_back_where_two_halves_cannot_reach_delta():
    plan = Plan((sampled(1, 0.999, 0.2),))
    curve = subsampled.curve(plan.releases)
    assert curve.epsilon_replace(1e-9) == math.inf
    assert plan.epsilon_replace(1e-9) == pytest.approx(
        gdp.epsilon(1e-9, plan.mu_replace), rel=1e-12
    )


def test_light_rates_keep_their_accuracy_over_many_steps():
    """The grid must be fine enough for steps whose privacy loss is far below 1e-4 each."""
    plan = Plan((sampled(3000, 1e-3, 5.0),))
    times, rate, mu = 3000, 1e-3, 1 / 5.0
    # At such rates the composition is Gaussian, mu = rate sqrt(T (e^{mu^2} - 1)), to ~1%.
    limit = rate * math.sqrt(times * math.expm1(mu**2))
    assert plan.epsilon(1e-5) == pytest.approx(gdp.epsilon(1e-5, limit), rel=0.02)


def test_dp_accounting_is_imported_only_for_sampled_plans():
    script = (
        "import sys; from tacit.accounting.release import Plan, Release;"
        "Plan((Release('a', 1.0, 1.0),)).epsilon(1e-5); assert 'dp_accounting' not in sys.modules;"
        "Plan((Release('a', 1.0, 1.0, sample_rate=0.5),)).epsilon(1e-5);"
        "assert 'dp_accounting' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_partner_cannot_be_subsampled():
    with pytest.raises(ValueError, match="one coin"):
        Release("rhs", 1.0, 1.0, partner="gram", sample_rate=0.5)
