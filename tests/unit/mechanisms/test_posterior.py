# SPDX-License-Identifier: Apache-2.0
"""A posterior sample: its law where it can be computed, its bound, its price, and its refusals."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import tacit
from tacit.accounting import composition, gdp, personal
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.accounting.statement import PrivacyStatement
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.ledger import BudgetError
from tacit.mechanisms.posterior import KEY_BYTES, GibbsPass, Posterior, chain, gibbs_step
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers.langevin import Langevin

SOLVER = Langevin(guarantee="posterior", converged="assumed", rank=1, steps=8, trim=2)
PUBLIC = Public(n_users=3, n_items=2, low=1, high=5, mu=1.0)
BLOCK = UserBlock(
    np.array([0, 2, 3, 3]),
    np.array([0, 1, 0], np.int32),
    np.array([5, 2, 4], np.float32),
    2,
)


def target(**changed):
    usual = {"n_items": 2, "rank": 1, "low": 1, "high": 5, "trim": 2}
    return Posterior(**{**usual, "margin": 1.0, "most_weight": 1.0, "ridge": 1.0, **changed})


# --- the law -------------------------------------------------------------------------------------


def exact_law(wanted, temperature, grid):
    """The density of |v| for one item, on a grid: each user's factor is integrated out."""
    u = np.linspace(-8, 8, 1601)
    log = -wanted.ridge * grid**2 / temperature
    for rating in (2.0, 1.0, None):
        loss = wanted.ridge * u[None, :] ** 2
        if rating is not None:
            weight = min(wanted.most_weight, wanted.trim)
            loss = loss + weight * (rating - u[None, :] * grid[:, None]) ** 2
        within = np.abs(u[None, :] * grid[:, None]) <= wanted.reach
        log = log + np.log(np.sum(np.exp(-loss / temperature) * within, axis=1))
    density = np.exp(log - log.max())
    return density / density.sum()


ONE_ITEM = UserBlock(
    np.array([0, 1, 2, 2], np.int64), np.zeros(2, np.int32), np.array([5, 4], np.float32), 1
)


@pytest.mark.statistical
@pytest.mark.parametrize(("temperature", "margin"), [(1.0, 0.0), (2.0, 4.0), (0.4, 9.0)])
def test_the_chain_ends_in_the_law_it_aims_at_and_in_no_cooler_one(temperature, margin):
    """privacy.md A6.4: the temperature is that of the budget, not half nor twice of it."""
    wanted = target(n_items=1, trim=1, margin=margin)
    engine, source = LocalThreads(ONE_ITEM, threads=1), SeededSource(5)
    V = np.full((1, 1), 0.1)
    sizes = []
    for step in range(3000):
        V = gibbs_step(engine.total, wanted, temperature, source, V)
        if step % 6 == 5:
            sizes.append(abs(float(V[0, 0])))
    grid = np.linspace(0, 6, 1201)

    def distance(at):
        law = np.cumsum(exact_law(wanted, at, grid))
        return stats.kstest(sizes, lambda x: np.interp(x, grid, law)).pvalue

    assert distance(temperature) > 1e-3
    assert distance(temperature / 2) < 1e-3


def test_products_stay_within_reach_or_the_draw_is_refused():
    engine = LocalThreads(BLOCK, threads=1)
    narrow = target(ridge=0.05, margin=0.0)
    for seed in range(20):
        V = chain(engine.total, narrow, 0.5, SeededSource(seed), steps=4)
        key = SeededSource(seed).random_bytes(KEY_BYTES)  # the users of the next step draw by it
        (block,) = engine.blocks()
        rows = narrow.trimmed(block)
        U = GibbsPass(narrow, 0.5, V, key).draws(rows, narrow.weights(rows))
        assert np.abs(U @ V.T).max() <= narrow.reach
        V = gibbs_step(engine.total, narrow, 0.5, SeededSource(seed), V)
        assert np.abs(U @ V.T).max() <= narrow.reach
    curator = DataCurator(
        engine,
        PUBLIC,
        Plan((Release("factors", narrow.loss_bound, 1e9, size=2, posterior=True),)),
        SeededSource(1),
    )
    with pytest.raises(SumError, match="NothingInRangeError"):
        curator.posterior_sample(narrow, "factors", 3)


def test_users_whom_nobody_has_numbered_draw_nothing():
    wanted = target()
    rows = wanted.trimmed(BLOCK)
    with pytest.raises(ValueError, match="must number its users"):
        GibbsPass(wanted, 1.0, np.ones((2, 1)), b"").draws(rows, wanted.weights(rows))


def test_at_temperature_zero_it_is_alternating_least_squares():
    engine = LocalThreads(BLOCK, threads=1)
    wanted = target(ridge=0.1, margin=50.0)
    V = chain(engine.total, wanted, 0.0, SeededSource(2), steps=60)
    u = np.array([(5 - 3) * V[0, 0] + (2 - 3) * V[1, 0], (4 - 3) * V[0, 0], 0.0])
    u /= np.array([V[0, 0] ** 2 + V[1, 0] ** 2, V[0, 0] ** 2, 1.0]) + 0.1
    v = np.array([2 * u[0] + 1 * u[1], -1 * u[0]]) / (
        np.array([u[0] ** 2 + u[1] ** 2, u[0] ** 2]) + 0.1
    )
    np.testing.assert_allclose(V[:, 0], v, atol=1e-3)
    assert abs(V[0, 0]) > 0.5


def test_threads_and_blocks_draw_the_same_users():
    whole = chain(LocalThreads(BLOCK, threads=1).total, target(), 1.0, SeededSource(3), 5)
    parts = LocalThreads(BLOCK, threads=2, ratings_per_block=1)
    np.testing.assert_allclose(chain(parts.total, target(), 1.0, SeededSource(3), 5), whole)


# --- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "level"),
    [(t, w) for t in (target(), target(trim=7, most_weight=10.0, margin=0.3)) for w in (1, 0.5, 0)],
)
def test_nobody_adds_more_to_the_loss_than_her_level_s_part_of_b(wanted, level):
    for n, value in itertools.product((0, 1, 2, 7, 40), (1.0, 5.0, 1e30, np.nan)):
        wide = Posterior(**{**_fields(wanted), "n_items": 40})
        block = UserBlock(
            np.array([0, n]),
            np.arange(n, dtype=np.int32),
            np.full(n, value, np.float32),
            40,
            levels=np.array([level], np.float32),
        )
        rows = wide.trimmed(block)
        errors = np.abs(rows.values.astype(np.float64)) + wide.reach  # the worst prediction
        assert len(rows.items) <= wide.trim
        loss = float(wide.weights(rows)[0] * np.sum(errors**2))
        assert loss <= level * wide.loss_bound * (1 + 1e-6)


def _fields(wanted):
    return {name: getattr(wanted, name) for name in Posterior.__slots__}


# --- the price -----------------------------------------------------------------------------------


def test_the_price_of_an_exact_sample():
    """privacy.md A6: eps/4 of the paper's when a row is zeroed out, eps/2 when it is replaced."""
    bound, paper = 2500.0, 8.0
    release = Release("factors", bound, 4 * bound / paper, posterior=True)
    assert composition.epsilon((release,), 1e-6) == pytest.approx(paper / 4)
    replaced = composition.epsilon((release,), 1e-6, adjacency="replace-one")
    assert replaced == pytest.approx(paper / 2)
    assert personal.epsilon((release,), 1e-6, 0.25) == pytest.approx(paper / 16)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 100.0])
def test_mu_of_a_pure_mechanism_bounds_randomised_response(epsilon):
    """Its trade-off curve touches that of mu-GDP in one point and lies above it elsewhere."""
    mu = gdp.mu_of_pure(epsilon)
    levels = np.geomspace(1e-9, 0.5, 200)
    best = np.minimum(math.exp(epsilon) * levels, 1 - math.exp(-epsilon) * (1 - levels))
    powers = np.array([gdp.power(float(level), mu) for level in levels])
    assert np.all(powers >= best - 1e-9)
    touch = 1 / (1 + math.exp(epsilon))
    assert gdp.power(touch, mu) == pytest.approx(1 - touch)


def test_pure_and_gaussian_prices_add_up():
    sample, noisy = Release("s", 2.0, 4.0, posterior=True), Release("g", 1.0, 5.0)
    both = composition.epsilon((sample, noisy), 1e-5)
    assert both == pytest.approx(0.5 + gdp.epsilon(1e-5, 0.2))
    assert both == pytest.approx(Plan((noisy, sample)).epsilon(1e-5))
    assert composition.mu_zero_out((sample,)) == pytest.approx(gdp.mu_of_pure(0.5))
    assert composition.mu_replace((sample,)) == pytest.approx(gdp.mu_of_pure(1.0))
    with pytest.raises(ValueError, match="no cone, partner or rate"):
        Release("s", 1.0, 1.0, posterior=True, cone=True)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_calibration_finds_the_temperature(epsilon):
    plan = calibrate(SOLVER.plan(PUBLIC), epsilon, 1e-6)
    bound = 2 * 5.0**2
    assert plan["factors"].l2 == bound
    assert plan["factors"].std == pytest.approx(bound / epsilon, rel=2e-4)
    assert plan.epsilon(1e-6) <= epsilon


def test_a_sample_is_charged_once_by_its_own_bound_and_not_as_a_sum():
    plan = calibrate(SOLVER.plan(PUBLIC), 1.0, 1e-6)
    rehearsal = Rehearsal(PUBLIC, plan)
    wider = SOLVER.target(PUBLIC)
    assert not rehearsal.posterior_sample(wider, "factors", 3).any()
    (spent,) = rehearsal.ledger.releases
    assert spent == plan.releases[0]
    with pytest.raises(BudgetError, match="planned 1, done 1"):
        rehearsal.posterior_sample(wider, "factors", 3)
    with pytest.raises(BudgetError, match="not planned"):
        Rehearsal(PUBLIC, plan).posterior_sample(wider, "other", 3)
    gaussian = Plan((Release("factors", wider.loss_bound, 1.0, size=2),))
    with pytest.raises(BudgetError, match="kind"):
        Rehearsal(PUBLIC, gaussian).posterior_sample(wider, "factors", 3)


# --- the words -----------------------------------------------------------------------------------


def test_it_is_refused_unless_asked_for_by_name():
    with pytest.raises(ValueError, match="converged='assumed'"):
        Langevin(guarantee="posterior")
    with pytest.raises(ValueError, match="no guarantee 'exact'"):
        Langevin(guarantee="exact")


def test_its_statement_says_first_that_a_finite_chain_has_none():
    rng = np.random.default_rng(4)
    table = {"user": np.repeat(np.arange(40), 4), "item": np.tile(np.arange(4), 40)}
    ratings = tacit.read(pa.table({**table, "rating": rng.integers(1, 6, 160)}), scale=(1, 5))
    solver = Langevin(
        guarantee="posterior", converged="assumed", rank=2, steps=5, trim=4, ridge=400.0, kappa=4.0
    )
    statement = tacit.fit(ratings, solver, epsilon=4.0, delta=1e-4).statement
    said = "NOT PRIVATE: this holds only if the chain has converged, which nothing here can check"
    assert str(statement).splitlines()[0] == said
    assert statement.plain().startswith(said)
    assert next(iter(json.loads(statement.to_json()).values())) == said
    assert not statement.private
    assert statement.epsilon == pytest.approx(4.0, rel=2e-4)
    assert statement.epsilon_of(0.5) == pytest.approx(2.0, rel=2e-4)
    assert "posterior sample" in str(statement)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
