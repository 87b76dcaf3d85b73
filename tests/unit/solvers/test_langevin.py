# SPDX-License-Identifier: Apache-2.0
"""Langevin: plain gradient descent where there is no noise; priced as what it releases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.solvers.langevin import Langevin

PUBLIC = Public(n_users=150, n_items=12, low=1, high=5, mu=1.0)
# Bounds that nobody reaches, so that nothing is cut.
WIDE = Langevin(rank=3, steps=12, factor_bound=50.0, row_bound=5.0, unknown=0.0)


def users(rng):
    truth = rng.normal(0, 1, (150, 2)) @ rng.normal(0, 0.7, (2, 12))
    rated = rng.random((150, 12)) < 0.7
    rated[:, 0] = True
    sizes = rated.sum(axis=1)
    values = np.clip(3 + truth + rng.normal(0, 0.3, truth.shape), 1, 5)
    return UserBlock(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.nonzero(rated)[1].astype(np.int32),
        values[rated].astype(np.float32),
        12,
    )


def trained(solver, block, factor=0.0, seed=1):
    plan = solver.plan(PUBLIC).scaled(factor)
    curator = DataCurator(LocalThreads(block, threads=1), PUBLIC, plan, SeededSource(seed))
    return solver.fit(curator), plan


def plain_descent(solver, block, fold, n):
    """The same steps in plain NumPy, user by user; offsets and counts as released."""
    h = solver.recipe(PUBLIC)
    V, _ = h.begin(n, PUBLIC.n_users, solver.seed)
    ridge = h.chance * PUBLIC.n_users / n.sum() / h.factor_variance
    kept = []
    for t in range(1, solver.steps + 1):
        g = np.zeros_like(V)
        for u in range(block.n_users):
            row = slice(block.indptr[u], block.indptr[u + 1])
            items = block.items[row]
            target = block.values[row] - fold.centring.offsets[items]
            A = V[items].T @ V[items] + h.chance * np.eye(h.rank)
            x = np.linalg.solve(A, V[items].T @ target)
            g[items] += np.outer(target - V[items] @ x, x) / math.sqrt(len(items))
        eta = solver.step / t**solver.decay
        V = V + eta / (n + ridge)[:, None] * (g - (solver.unknown * n + ridge)[:, None] * V)
        V[:, 0] = h.level
        kept.append((eta, V))
    later = kept[math.floor(solver.average_from * solver.steps) :]
    return sum(eta * V for eta, V in later) / sum(eta for eta, _ in later)


def test_without_noise_it_is_plain_gradient_descent(rng):
    block = users(rng)
    fold, _ = trained(WIDE, block)
    sizes = np.diff(block.indptr)
    n = np.bincount(block.items, np.repeat(1 / np.sqrt(sizes), sizes), 12)
    expected = plain_descent(WIDE, block, fold, n)
    np.testing.assert_allclose(fold.item_factors, expected, atol=0.02)
    assert np.std(expected[:, 1:]) > 0.2


def test_descent_lowers_the_loss_it_is_the_descent_of(rng):
    block = users(rng)
    errors = []
    for steps in (1, 3, 30):
        fold, _ = trained(replace(WIDE, steps=steps), block)
        errors.append(float(np.mean((block.values - fold.predict(block, block)) ** 2)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.25


def test_the_langevin_reading_of_the_price():
    """mu^2 = C^2 sum of eta_t / zeta_t, for any steps and any noise."""
    solver = replace(WIDE, steps=25, step=0.4, decay=0.7)
    plan = calibrate(solver.plan(PUBLIC), 2.0, 1e-5)
    gradient = plan["factors.gradient"]
    zeta = solver.temperatures(plan)
    eta = 0.4 / np.arange(1, 26) ** 0.7
    assert gradient.l2**2 * np.sum(eta / zeta) == pytest.approx(gradient.mu_squared)
    assert np.all(np.diff(zeta) < 0), "smaller steps are cooler"


def test_a_sampled_run_costs_its_budget_and_less_than_a_whole_one_with_its_noise(rng):
    sampled = replace(WIDE, sample_rate=0.1, steps=40)
    plan = calibrate(sampled.plan(PUBLIC), 2.0, 1e-5)
    assert 2.0 * (1 - 2e-4) <= plan.epsilon(1e-5) <= 2.0
    assert plan["factors.gradient"].sample_rate == 0.1
    whole = [replace(release, sample_rate=1.0) for release in plan.releases]
    assert type(plan)(tuple(whole)).epsilon(1e-5) > 3.0
    block = users(rng)
    one, _ = trained(sampled, block)
    other, _ = trained(sampled, block, seed=2)
    assert not np.array_equal(one.item_factors, other.item_factors), "coins differ"
    everyone, _ = trained(replace(sampled, sample_rate=1.0), block)
    apart = np.linalg.norm(one.item_factors - everyone.item_factors)
    assert apart < 0.6 * np.linalg.norm(everyone.item_factors[:, 1:])


def test_a_sampled_training_states_its_gain_and_a_level_of_one_s_own():
    rng = np.random.default_rng(3)
    table = {"user": np.repeat(np.arange(80), 5), "item": np.tile(np.arange(5), 80)}
    ratings = tacit.read(
        pa.table({**table, "rating": rng.integers(1, 6, 400), "privacy": np.full(400, 0.5)})
    )
    fit = tacit.fit(ratings, Langevin(rank=2, steps=5, sample_rate=0.3), epsilon=2.0, delta=1e-4)
    assert 1.99 < fit.statement.epsilon <= 2.0
    assert "each user with probability 0.3" in str(fit.statement)
    assert fit.statement.epsilon_of(0.5) < 1.2


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("steps", 0),
        ("step", 0.0),
        ("decay", 1.0),
        ("average_from", 1.0),
        ("unknown", -0.1),
        ("sample_rate", 0.0),
        ("sample_rate", 1.5),
        ("offset_share", 1.0),
        ("rank", -1),
    ],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be"):
        Langevin(**{setting: value})
