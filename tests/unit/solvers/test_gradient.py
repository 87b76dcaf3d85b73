# SPDX-License-Identifier: Apache-2.0
"""Gradient descent against the dense algorithm of its paper; what is refused before spending."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.contributions import Descended, Descent, DescentRule, PowerProduct
from tacit.contributions.memo import replayed
from tacit.data.block import UserBlock
from tacit.datasets import dplmc_synthetic
from tacit.engines.local import LocalThreads
from tacit.folding import Centring
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers import spectral
from tacit.solvers.gradient import Gradient

PAPER = Gradient(
    rank=3, steps=25, eta=0.8, chance=1e-3, explained=0.03, row_bound=1.0, alpha_1=3, alpha_2=3,
    p=0.2, mean_ridge=math.inf, omega=0.2,
)  # fmt: skip


@pytest.fixture(scope="module")
def experiment():
    return dplmc_synthetic(600, 60, 3, noise=0.0, validation=0.1, seed=2)


def trained(solver, ratings, *, noise=0.0, engine=None):
    scale = ratings.scale
    public = Public(ratings.n_users, len(ratings.catalogue), scale.low, scale.high, math.inf)
    plan = solver.plan(public).scaled(noise)
    curator = DataCurator(
        engine or LocalThreads(ratings.block, threads=1), public, plan, SeededSource(1)
    )
    return solver.fit(curator)


def dense(solver, ratings):
    """Algorithm 1 with whole matrices and no noise; p_i and p_j are users' and items' own."""
    block, scale = ratings.block, ratings.scale
    m, n = block.n_users, block.n_items
    known, Y = np.zeros((2, m, n))
    u = block.user_of_rating()
    known[u, block.items] = 1.0
    Y[u, block.items] = block.values - (scale.low + scale.high) / 2
    h = solver.recipe(Public(m, n, scale.low, scale.high, math.inf))
    s, r = h.size, h.rank
    row_weights = known / np.sqrt(np.maximum(known.sum(1, keepdims=True), 1))
    counts = np.full((n, 1), m * math.sqrt(solver.p / n))
    item_ridge = h.chance * (m / counts.sum()) / s**2
    user_counts = np.maximum(known.sum(1, keepdims=True) + h.chance / s**2, 1)

    def cut(rows, bound):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows * np.minimum(1, bound / np.maximum(norms, 1e-300))

    V = cut(np.random.default_rng(0).standard_normal((n, r)) * math.sqrt(s), h.alpha_2)
    second = V.T @ V / n
    U = cut((Y / user_counts) @ V @ np.linalg.inv(second + 1e-9 * s * np.eye(r)), h.alpha_1)
    for _ in range(solver.steps):
        E = known * (Y - U @ V.T)
        UU, VV = U.T @ U / m, V.T @ V / n
        values, vectors = np.linalg.eigh(UU)
        UU = vectors @ np.diag(np.minimum(values, h.alpha_1**2)) @ vectors.T
        R = UU - VV
        eta = solver.eta / max(*np.linalg.eigvalsh(UU), *np.linalg.eigvalsh(VV), s)
        norms = np.linalg.norm(row_weights * E, axis=1, keepdims=True)
        q = (row_weights * E * np.minimum(1, h.row_bound / np.maximum(norms, 1e-300))).T @ U
        step = (q - s * item_ridge * V) / (counts + item_ridge)
        pull = (E @ V - h.chance / s * U) / user_counts
        half = eta * solver.balance / 2
        V, U = (
            cut(V + eta * step + half * V @ R, h.alpha_2),
            cut(U + eta * pull - half * U @ R, h.alpha_1),
        )
    return U, V


def test_without_noise_it_is_the_dense_algorithm(experiment):
    U, V = dense(PAPER, experiment.train)
    found = trained(PAPER, experiment.train).item_factors
    assert np.abs(found - V).max() < 2e-3 * np.abs(V).max()
    # And the dense algorithm is not standing still: it finds the matrix.
    error = np.abs(U @ V.T - experiment.user_factors @ experiment.item_factors.T)
    assert np.sqrt(np.mean(error**2)) < 0.1


@pytest.mark.parametrize("change", [{"balance": 0.0}, {"alpha_1": 0.5}, {"row_bound": 0.02}])
def test_every_projection_and_the_balance_are_those_of_the_dense_algorithm(experiment, change):
    solver = dataclasses.replace(PAPER, **change)
    _, V = dense(solver, experiment.train)
    _, usual = dense(PAPER, experiment.train)
    found = trained(solver, experiment.train).item_factors
    assert np.abs(usual - V).max() > 0.05 * np.abs(V).max(), "the change changes nothing"
    assert np.abs(found - V).max() < 4e-3 * np.abs(V).max()


@pytest.mark.parametrize("start", ["random", "spectral"])
def test_exact_low_rank_ratings_are_found(experiment, start):
    solver = dataclasses.replace(PAPER, steps=80, start=start, chance=1e-6)
    fold = trained(solver, experiment.train)
    test = experiment.test.block
    error = fold.predict(experiment.train.block, test) - test.values
    assert np.sqrt(np.mean(error**2)) < 0.1 * np.std(test.values)


def test_a_spectral_start_spans_the_truth_at_once(experiment):
    """After one tiny step the item factors are still those of the start."""
    solver = dataclasses.replace(PAPER, steps=1, eta=1e-9, start="spectral")
    V = trained(solver, experiment.train).item_factors.astype(np.float64)
    cosines = np.linalg.svd(
        np.linalg.qr(V)[0].T @ np.linalg.qr(experiment.item_factors)[0], compute_uv=False
    )
    assert cosines.min() > 0.9


def test_in_a_large_catalogue_the_start_asks_for_products_only(experiment, monkeypatch):
    monkeypatch.setattr(spectral, "DENSE_ITEMS", 10)
    asked = []
    kept = DataCurator.noisy_sum

    def noisy_sum(self, contribution, release):
        asked.append(contribution)
        return kept(self, contribution, release)

    monkeypatch.setattr(DataCurator, "noisy_sum", noisy_sum)
    solver = dataclasses.replace(PAPER, steps=1, eta=1e-9, start="spectral")
    V = trained(solver, experiment.train).item_factors.astype(np.float64)
    assert sum(isinstance(each, PowerProduct) for each in asked) == 3 * spectral.PRODUCTS
    cosines = np.linalg.svd(
        np.linalg.qr(V)[0].T @ np.linalg.qr(experiment.item_factors)[0], compute_uv=False
    )
    assert cosines.min() > 0.8


@pytest.mark.parametrize("start", ["random", "spectral"])
@pytest.mark.parametrize("p", [None, 0.3])
@pytest.mark.parametrize("items", [50, 2500])
def test_ledger_equals_plan_with_every_start(start, p, items):
    solver = Gradient(rank=2, steps=3, start=start, p=p)
    public = Public(n_users=1000, n_items=items, low=1, high=5, mu=1.0)
    plan = calibrate(solver.plan(public), 1.0, 1e-6)
    rehearsal = Rehearsal(public, plan)
    fold = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    assert np.all(np.isfinite(fold.item_factors))
    assert plan.epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)
    assert ("counts.count" in plan) == (p is None)


class Forgetful(LocalThreads):
    """An engine whose users keep nothing between steps."""

    def total(self, contribution):
        self._users = dataclasses.replace(self._users, memo=None)
        return super().total(contribution)


def test_users_who_remember_nothing_come_to_the_same_bits(experiment):
    block = experiment.train.block
    solver = dataclasses.replace(PAPER, steps=4)
    kept = trained(solver, experiment.train, noise=0.1)
    for size in (64, 10**6):
        engine = Forgetful(block, threads=2, ratings_per_block=size)
        again = trained(solver, experiment.train, noise=0.1, engine=engine)
        np.testing.assert_array_equal(again.item_factors, kept.item_factors)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"start": "warm"}, "start must be 'random', 'spectral' or a WarmStart, got 'warm'"),
        ({"eta": 1.5}, "eta must be above 0 and at most 1, got 1.5"),
        ({"eta": math.nan}, "eta must be above 0"),
        ({"alpha_1": math.inf}, "alpha_1 must be a positive number, got inf"),
        ({"p": 0.0}, "p must be above 0 and at most 1, got 0.0"),
        ({"offset_share": 1.0}, "offset_share and .* must be below 1"),
        ({"omega": 0.5, "init_share": 0.5}, "omega [+] init_share must be below 1"),
        ({"rank": -1}, "rank must be at least 0, got -1"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Gradient(**wrong)


def test_steps_of_another_history_have_other_names():
    V = np.ones((5, 2), np.float32)
    rule = DescentRule(Centring(), 0.1, 0.1, 1.0)
    other = DescentRule(Centring(np.ones(5)), 0.1, 0.1, 1.0)
    first = Descent(rule, V, None, 1.0, None)
    steps = [
        first,
        Descent(other, V, None, 1.0, None),
        Descent(rule, 2 * V, None, 1.0, None),
        Descent(rule, V, np.eye(2), 1.0, None),
        Descent(rule, V, None, 0.5, None),
        Descent(rule, V, None, 1.0, first),
    ]
    steps += [
        Descent(dataclasses.replace(rule, **{name: 0.2}), V, None, 1.0, None)
        for name in ("ridge", "ridge_ratings", "bound")
    ]
    assert len({step.key for step in steps}) == len(steps)


def test_a_user_without_ratings_stays_at_zero():
    V = np.ones((5, 2), np.float32)
    rule = DescentRule(Centring(), 0.1, 0.1, 1.0)
    steps = Descent(rule, V, np.full((2, 2), 0.1), 0.5, Descent(rule, V, None, 1.0, None))
    nobody = UserBlock(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 5)
    assert not replayed(steps, nobody).any()
    assert not Descended(V, steps).user_factors(nobody).any()
