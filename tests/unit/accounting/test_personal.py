# SPDX-License-Identifier: Apache-2.0
"""What a user at her own level risks: w times mu, so an epsilon of her own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.accounting import gdp, personal
from tacit.accounting.release import Release

# privacy.md A6: T = 100 releases of noise 20 times the bound; the paper's users at three levels.
LANGEVIN = (Release("gradient", 1.0, 20.0, 100),)
SAMPLED = (Release("gradient", 1.0, 1.0, 400, sample_rate=0.05),)


@pytest.mark.parametrize(("level", "epsilon"), [(1, 1.993), (0.5, 0.926), (0.25, 0.434)])
def test_the_figures_of_a_finite_langevin_run(level, epsilon):
    assert personal.epsilon(LANGEVIN, 1e-5, level) == pytest.approx(epsilon, abs=5e-4)


@pytest.mark.parametrize(("level", "epsilon"), [(1, 6.700), (0.5, 2.247), (0.25, 0.964)])
def test_the_figures_of_a_sampled_langevin_run(level, epsilon):
    assert personal.epsilon(SAMPLED, 1e-5, level) == pytest.approx(epsilon, abs=1.5e-3)


@pytest.mark.parametrize("level", [1.0, 0.7, 0.1])
def test_a_level_scales_mu(level):
    mixed = (*LANGEVIN, Release("counts", 3.0, 10.0, 2, cone=True))
    mu = math.sqrt(100 / 400 + 2 * 0.09)
    assert personal.epsilon(mixed, 1e-5, level) == pytest.approx(gdp.epsilon(1e-5, level * mu))


def test_level_zero_risks_nothing_and_more_than_one_is_refused():
    assert personal.epsilon(LANGEVIN, 1e-5, 0.0) == 0.0
    for level in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="level must be from 0 to 1"):
            personal.epsilon(LANGEVIN, 1e-5, level)


@pytest.mark.parametrize("releases", [LANGEVIN, SAMPLED])
def test_levels_that_follow_from_an_epsilon_grant_no_more_than_it(releases):
    own = np.array([0.5, 1.0, np.nan, 100.0, 0.5, 1e-9])
    found = personal.levels(own, releases, 1e-5)
    assert found.dtype == np.float32
    assert found[2] == found[3] == 1.0
    assert found[0] == found[4] < found[1] < 1
    assert found[5] == 0.0
    for level, granted in zip(found.tolist(), own.tolist(), strict=True):
        if not math.isnan(granted):
            assert personal.epsilon(releases, 1e-5, level) <= granted
        if level < 1 and not math.isnan(granted):
            more = personal.epsilon(releases, 1e-5, level + 1 / personal.STEPS)
            assert more > granted


def test_without_noise_who_grants_an_epsilon_is_left_out():
    bare = (Release("gradient", 1.0, 0.0),)
    assert personal.levels(np.array([5.0, np.nan]), bare, 1e-5).tolist() == [0.0, 1.0]
