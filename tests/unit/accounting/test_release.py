# SPDX-License-Identifier: Apache-2.0
"""Releases and plans as data: what they refuse and how they are looked up."""

from __future__ import annotations

import math

import pytest

from tacit.accounting.release import Plan, Release


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"l2": 0.0}, "'a': l2"),
        ({"l2": math.inf}, "'a': l2"),
        ({"l2": math.nan}, "'a': l2"),
        ({"std": -1.0}, "'a': std"),
        ({"std": math.nan}, "'a': std"),
        ({"times": 0}, "'a': times"),
        ({"size": 0}, "'a': times and size"),
        ({"sample_rate": 0.0}, "'a': sample_rate"),
        ({"sample_rate": 1.1}, "'a': sample_rate"),
    ],
)
def test_a_release_out_of_range_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        Release(**({"name": "a", "l2": 1.0, "std": 1.0} | fields))


def test_a_plan_needs_releases_of_different_names():
    release = Release("a", 1.0, 1.0)
    with pytest.raises(ValueError, match="at least one"):
        Plan(())
    with pytest.raises(ValueError, match="differ"):
        Plan((release, release))


def test_a_partner_must_be_in_the_plan():
    with pytest.raises(ValueError, match="no partner 'gram'"):
        Plan((Release("rhs", 1.0, 1.0, partner="gram"),))


def test_releases_are_found_by_name():
    plan = Plan((Release("a", 1.0, 1.0), Release("b", 2.0, 1.0)))
    assert plan["b"].l2 == 2.0
    assert "a" in plan
    assert "c" not in plan
    with pytest.raises(KeyError, match="c"):
        plan["c"]


def test_scaling_changes_stds_alone():
    plan = Plan((Release("a", 1.0, 2.0, 3, size=7, cone=True),))
    assert plan.scaled(1.5) == Plan((Release("a", 1.0, 3.0, 3, size=7, cone=True),))
    assert plan.scaled(2.0).mu == plan.mu / 2


@pytest.mark.parametrize("times", [1, 5])
def test_a_share_is_what_all_times_of_a_release_cost_together(times):
    release = Release.share("sum", l2=3.0, share=0.25, times=times, size=7, cone=True)
    assert release.mu_squared == pytest.approx(0.25, rel=1e-14)
    assert (release.l2, release.times, release.size, release.cone) == (3.0, times, 7, True)
    other = Release.share("other", l2=1.0, share=0.75)
    assert Plan((release, other)).mu == pytest.approx(1.0, rel=1e-14)
