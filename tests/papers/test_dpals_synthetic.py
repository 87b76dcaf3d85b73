# SPDX-License-Identifier: Apache-2.0
"""Figures 4 and 7 of "Private Alternating Least Squares", small: ALS against Frank-Wolfe."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.datasets.papers import dpals_synthetic
from tacit.mechanisms.entropy import SeededSource
from tacit.training import Budget, Execution, train


@pytest.fixture(scope="module")
def made():
    return dpals_synthetic(6000, 200, 3)


def rmse(made, solver, epsilon):
    fitted = train(made.train, solver, Budget(epsilon, 1e-5), Execution(source=SeededSource(1)))
    asked = made.test.block
    guess = fitted.model.folding.predict(made.train.block, asked)
    limits = (made.train.scale.low, made.train.scale.high)
    return float(np.sqrt(np.mean((np.clip(guess, *limits) - asked.values) ** 2)))


def als(made, **options):
    width = made.train.scale.high - made.train.scale.low
    unit = width / 4
    usual = {"steps": 16, "averaging": 0.3, "row_bound": 0.3 / width, "factor_bound": 1.2}
    return tacit.ALS(
        rank=3,
        gram="shared",
        offset_share=0.0,
        chance_share=0.0,
        gram_share=0.02,
        explained=1 / unit**2,
        chance=0.03 / unit**2,
        **usual | options,
    )


def frank_wolfe(made, steps, length=16.0, residual_bound=1.0):
    width = made.train.scale.high - made.train.scale.low
    return tacit.FrankWolfe(
        direction="dense",
        steps=steps,
        nuclear_norm=3.0,
        row_bound=length / width,
        residual_bound=residual_bound,
        offset_share=0.0,
    )


@pytest.mark.parametrize("epsilon", [2.0, 20.0])
def test_private_als_is_several_times_better_than_private_frank_wolfe(made, epsilon):
    fw = min(rmse(made, frank_wolfe(made, steps), epsilon) for steps in (3, 8))
    assert rmse(made, als(made), epsilon) < fw / 4
    assert fw < 1


def test_at_a_small_budget_frank_wolfe_is_no_better_than_the_mean():
    """As published: L so large that no row is shortened, residuals of up to 2 L. The mean has 1."""
    made = dpals_synthetic(4000, 300, 3)
    assert rmse(made, frank_wolfe(made, 4, length=40.0, residual_bound=2.0), 1.0) > 0.98
    assert rmse(made, als(made), 1.0) < 0.5


def test_als_gets_better_with_users():
    errors = []
    for users in (1500, 6000):
        made = dpals_synthetic(users, 300, 3)
        errors.append(rmse(made, als(made), 2.0))
    assert errors[1] < 0.6 * errors[0]


def test_two_steps_of_als_beat_many_of_frank_wolfe():
    made = dpals_synthetic(1500, 100, 3)
    width = made.train.scale.high - made.train.scale.low
    paper = tacit.PerItem(
        ridge=0.01,
        sampling="uniform",
        items_per_user=150,
        centring="none",
        clip=0.5,
        start_size=0.4 * math.sqrt(3) / width,
    )
    two = rmse(made, tacit.ALS(rank=3, steps=2, averaging=1.0, gram=paper), math.inf)
    assert two < rmse(made, frank_wolfe(made, 20), math.inf)
