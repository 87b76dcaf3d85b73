# SPDX-License-Identifier: Apache-2.0
"""Figures 1 and 3 of DPLMC, at small scale: gradient descent against the paper's private ALS."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.datasets.papers import dplmc_synthetic
from tacit.mechanisms.entropy import SeededSource
from tacit.training import Budget, Execution, train


def error(made, solver, epsilon):
    """Mean square over unknown entries, against the true matrix."""
    fitted = train(made.train, solver, Budget(epsilon, 1e-5), Execution(source=SeededSource(1)))
    asked = made.test.block
    guess = fitted.model.folding.predict(made.train.block, asked)
    return float(np.mean((guess - asked.values) ** 2))


def dplmc(made, users, rank, start):
    width = made.train.scale.high - made.train.scale.low
    variance = float(np.var(made.test.block.values))
    return tacit.Gradient(
        rank=rank,
        steps=30,
        p=rank * math.log(users) / 100,
        mean_ridge=math.inf,
        start=start,
        chance=(4 / width) ** 2,
        explained=variance * (4 / width) ** 2,
        row_bound=1.1 / width,
    )


def dpals(made, rank, start):
    """With the clips that the paper gives it."""
    width = made.train.scale.high - made.train.scale.low
    paper = tacit.PerItem(
        ridge=100.0,
        sampling="uniform",
        items_per_user=50,
        centring="none",
        clip=4 / width,
        user_bound=2.0,
        start=start,
    )
    return tacit.ALS(rank=rank, steps=2, averaging=1.0, gram=paper)


@pytest.mark.parametrize("start", ["random", "spectral"])
@pytest.mark.parametrize("rank", [5, 7])
def test_dplmc_is_below_dpals_at_the_same_budget(start, rank):
    made = dplmc_synthetic(4000, rank=rank)
    found = error(made, dplmc(made, 4000, rank, start), 10.0)
    assert found < 0.9 * error(made, dpals(made, rank, start), 10.0)
    assert found < 0.9 * np.mean(made.test.block.values.astype(float) ** 2)


def test_the_error_of_dplmc_falls_with_users():
    errors = []
    for users in (2000, 8000):
        made = dplmc_synthetic(users)
        size = np.mean(made.test.block.values.astype(float) ** 2)
        errors.append(error(made, dplmc(made, users, 5, "spectral"), 5.0) / size)
    assert errors[1] < 0.95 * errors[0]
