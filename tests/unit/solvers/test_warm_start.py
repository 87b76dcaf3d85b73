# SPDX-License-Identifier: Apache-2.0
"""A start from an earlier model: what it gives, what it costs, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import typing

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting import composition
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.accounting.statement import PrivacyStatement
from tacit.cli.settings import takes_start
from tacit.datasets import movielens_like
from tacit.evaluation import leave_part_out
from tacit.folding import Centring, FoldIn
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.model.item_model import ItemModel
from tacit.solvers import SOLVERS, UNPROTECTED
from tacit.solvers.warm_start import WarmStart
from tacit.training import Budget, Execution, train

RANK = 4
PRIVATE = [name for name in SOLVERS if takes_start(SOLVERS[name])]
LEVELS = {"als": 1, "langevin": 1}
# Little to do, since most of these tests ask what may be done at all.
QUICK = {name: {"steps": 2} for name in PRIVATE}


@pytest.fixture(scope="module")
def whole():
    return movielens_like(users=800, items=60, ratings=24_000, rank=RANK)


def of_users(ratings, some):
    from tacit.data.split import rows_of

    rows = rows_of(ratings.block, some)
    return dataclasses.replace(ratings, rows=rows, ids=ratings.user_ids[some])


@pytest.fixture(scope="module")
def ratings(whole):
    return of_users(whole, np.arange(400, 800))


@pytest.fixture(scope="module")
def raw(whole):
    """A model that knows what 400 other users rated, with no noise on it."""
    solver = tacit.SGD(rank=RANK, epochs=10)
    return tacit.fit(of_users(whole, np.arange(400)), solver, epsilon=math.inf).model


@pytest.fixture(scope="module")
def noisy(whole):
    solver = tacit.ALS(rank=RANK + 1, steps=2)
    return tacit.fit(of_users(whole, np.arange(400)), solver, epsilon=3.0, delta=1e-4).model


def started(name, model, trained_on="public ratings", **settings):
    start = WarmStart(model, trained_on)
    return SOLVERS[name](**QUICK[name] | settings, start=start)


def rmse(fit, known, asked):
    predicted = fit.model.folding.predict(known.block, asked.block)
    return float(np.sqrt(np.mean((predicted - asked.block.values) ** 2)))


def test_these_take_a_start():
    assert PRIVATE == ["als", "gradient", "langevin"]
    assert takes_start(UNPROTECTED["sgd"])
    for name in PRIVATE:
        assert "start" in typing.get_type_hints(SOLVERS[name])
        with pytest.raises(ValueError, match="a WarmStart"):
            SOLVERS[name](start="model/")
    with pytest.raises(ValueError, match="must be a WarmStart"):
        tacit.SGD(start="model/")


# --- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIVATE)
def test_a_start_that_is_not_private_is_refused_before_anything_is_spent(
    name, ratings, raw, tmp_path
):
    journal = tmp_path / "journal"
    solver = started(name, raw, "private ratings")
    with pytest.raises(ValueError, match=r"the start is NOT PRIVATE .* pass on what it reveals"):
        tacit.fit(ratings, solver, epsilon=1.0, journal=journal)
    assert not journal.exists()
    assert not tacit.fit(ratings, solver, epsilon=math.inf).statement.private


def test_noise_that_protects_nobody_makes_no_private_start(ratings, whole):
    execution = Execution(SeededSource(1))
    seeded = train(whole, tacit.ALS(rank=3, steps=1), Budget(1.0, 1e-4), execution).model
    with pytest.raises(ValueError, match=r"NOT PRIVATE \(seeded noise\)"):
        tacit.fit(ratings, started("als", seeded, "private ratings"), epsilon=1.0)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_start_that_is_declared_public_is_told_and_costs_nothing(name, ratings, raw):
    statement = tacit.fit(ratings, started(name, raw), epsilon=1.0).statement
    assert statement.private
    assert statement.epsilon <= 1.0
    told = [each for each in statement.public if "DECLARED TO HAVE SEEN PUBLIC RATINGS" in each]
    assert len(told) == 1
    assert "DECLARED TO HAVE SEEN PUBLIC RATINGS" in str(statement).replace("\n    ", " ")


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_start_and_the_training_compose_in_the_statement(name, ratings, noisy, tmp_path):
    plain = tacit.fit(ratings, started(name, noisy), epsilon=1.0, delta=1e-4).statement
    fit = tacit.fit(ratings, started(name, noisy, "private ratings"), epsilon=1.0, delta=1e-4)
    statement, before = fit.statement, noisy.statement
    assert statement.private
    assert statement.mu == pytest.approx(math.hypot(plain.mu, before.mu), rel=1e-12)
    together = composition.epsilon(
        (*plain.releases, *before.releases), 1e-4, relative_error=statement.relative_error
    )
    assert statement.epsilon == together
    assert statement.epsilon > max(plain.epsilon, before.epsilon)
    replaced = math.hypot(plain.mu_replace, before.mu_replace)
    assert statement.mu_replace == pytest.approx(replaced, rel=1e-12)
    page = str(statement)
    assert 'Releases named "start: ..." are those of the model that this training started' in page
    assert "count both trainings" in page
    assert "It began from an earlier model, which all figures here count. This" in statement.plain()
    assert "earlier model" not in plain.plain()
    assert "the start alone epsilon 3 at delta 0.0001" in page
    assert "this training   epsilon 1 at delta 0.0001" in page
    assert "by the training of the start: the number of users, 400" in statement.public
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    fit.model.save(tmp_path / "m")
    assert tacit.load(tmp_path / "m").statement == statement


def test_a_start_of_a_start_is_counted_too(ratings, noisy):
    solver = started("als", noisy, "private ratings")
    second = tacit.fit(ratings, solver, epsilon=1.0, delta=1e-4).model
    third = tacit.fit(ratings, started("als", second, "private ratings"), epsilon=1.0, delta=1e-4)
    names = {release.name for release in third.statement.releases}
    assert {"factors.gram", "start: factors.gram", "start: start: factors.gram"} <= names
    mus = [second.statement.mu**2, tacit.fit(ratings, epsilon=1.0, delta=1e-4).statement.mu ** 2]
    assert third.statement.mu**2 == pytest.approx(sum(mus), rel=1e-6)


def test_users_with_a_privacy_of_their_own_need_a_public_start(noisy):
    users = np.repeat(np.arange(40), 3)
    columns = {"user": users, "item": np.tile([1, 2, 3], 40), "rating": users % 5 + 1.0}
    table = pa.table(columns | {"privacy": np.where(users < 20, 0.5, 1.0)})
    own = tacit.read(table, scale=(0.5, 5))
    names = ItemModel(np.arange(60), noisy.folding, noisy.scale, noisy.statement)
    with pytest.raises(ValueError, match="may declare a privacy of their own"):
        tacit.fit(own, started("als", names, "private ratings"), epsilon=1.0, delta=1e-3)
    assert tacit.fit(own, started("als", names), epsilon=1.0, delta=1e-3).statement.private


@pytest.mark.parametrize("name", PRIVATE)
def test_the_ledger_of_a_started_training_equals_its_plan(name, noisy):
    start = WarmStart(noisy).on(np.arange(1, 50), 1, 5)
    solver = SOLVERS[name](start=start)
    public = Public(n_users=100, n_items=49, low=1, high=5, mu=0.3)
    plan = calibrate(solver.plan(public), 1.0, 1e-6)
    rehearsal = Rehearsal(public, plan)
    fold_in = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    assert fold_in.item_factors.shape == (49, RANK + LEVELS.get(name, 0))
    assert np.all(np.isfinite(fold_in.item_factors))


# --- what it gives -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIVATE)
def test_a_public_start_pays_at_a_small_budget(name, whole, raw):
    known, asked = (
        of_users(part, np.arange(400, 800)) for part in leave_part_out(whole, 0.2, seed=1)
    )
    usual, warm = (
        np.mean([rmse(tacit.fit(known, solver, epsilon=0.5), known, asked) for _ in range(4)])
        for solver in (SOLVERS[name](), SOLVERS[name](start=WarmStart(raw, "public ratings")))
    )
    assert warm < 0.99 * usual


@pytest.mark.parametrize("name", PRIVATE)
def test_where_noise_drowns_everything_the_start_is_left(name, ratings, raw):
    """Ridges pull to the start instead of to zero."""
    tiny = {"epsilon": 1e-3, "delta": 1e-6}
    warm = tacit.fit(ratings, started(name, raw, steps=30), **tiny).model
    V = warm.item_factors[:, LEVELS.get(name, 0) :].ravel()
    assert np.corrcoef(V, raw.item_factors.ravel())[0, 1] > 0.75
    assert np.corrcoef(warm.item_offsets, raw.item_offsets)[0, 1] > 0.5
    usual = SOLVERS[name](rank=V.size // 60 + LEVELS.get(name, 0), steps=30)
    cold = tacit.fit(ratings, usual, **tiny).model
    V = cold.item_factors[:, LEVELS.get(name, 0) :].ravel()
    assert abs(np.corrcoef(V, raw.item_factors.ravel())[0, 1]) < 0.4


def test_every_form_of_als_takes_a_start(ratings, raw):
    def fitted(**settings):
        return tacit.fit(ratings, tacit.ALS(steps=1, **settings), epsilon=5.0).model.item_factors

    start = WarmStart(raw, "public ratings")
    for gram, level in (("shared", 1), ("per-item", 1), (tacit.PerItem(ridge=1.0), 0)):
        assert fitted(gram=gram, start=start).shape == (60, RANK + level)
    with pytest.raises(ValueError, match="take one"):
        fitted(gram=tacit.PerItem(ridge=1.0, start="spectral"), start=start)
    with pytest.raises(ValueError, match="no start for implicit feedback"):
        fitted(feedback="implicit", start=start)


def test_a_chain_begins_where_it_is_told(ratings, raw):
    solver = tacit.Langevin(
        guarantee="posterior",
        converged="assumed",
        steps=1,
        start=WarmStart(raw, "public ratings"),
        ridge=2 * 100 * 5.5**2,
    )
    model = tacit.fit(ratings, solver, epsilon=1.0, delta=1e-4).model
    assert model.item_factors.shape == (60, RANK)
    assert not model.statement.private
    matched = solver.start.on(ratings.catalogue.ids, 0.5, 5.0)
    first = dataclasses.replace(solver, start=matched).start.scaled(60, 0.1)
    assert np.sqrt(np.mean(first**2)) == pytest.approx(0.1)


def test_sgd_goes_on_from_its_own_model(whole):
    """No worse after one epoch than the model was; a training from nothing is far behind."""
    known, asked = leave_part_out(whole, 0.2, seed=1)
    first = tacit.fit(known, tacit.SGD(rank=RANK, epochs=15), epsilon=math.inf)
    short = tacit.SGD(rank=RANK, epochs=1, rate=0.02)
    cold, warm = (
        tacit.fit(known, solver, epsilon=math.inf)
        for solver in (short, dataclasses.replace(short, start=WarmStart(first.model)))
    )
    assert rmse(warm, known, asked) < 1.005 * rmse(first, known, asked) < rmse(cold, known, asked)
    assert not warm.statement.private


@pytest.mark.parametrize("name", PRIVATE)
def test_sgd_starts_from_every_model_where_that_has_ended(name, whole, ratings):
    """Users fold in, so a step of next to nothing leaves the predictions."""
    other = SOLVERS[name](rank=RANK)
    model = tacit.fit(whole, other, epsilon=math.inf).model
    own = RANK - LEVELS.get(name, 0)
    solver = tacit.SGD(rank=own, epochs=1, rate=1e-9, start=WarmStart(model))
    model_again = tacit.fit(whole, solver, epsilon=math.inf).model
    # The same directions, up to one number.
    V, W = model.item_factors[:, -own:], model_again.item_factors
    np.testing.assert_allclose(W / np.linalg.norm(W), V / np.linalg.norm(V), atol=1e-5)
    np.testing.assert_allclose(model_again.item_offsets, model.item_offsets, atol=1e-4)


def test_a_started_descent_has_the_same_bits_however_it_runs(ratings, raw, tmp_path):
    solver = tacit.SGD(rank=RANK, epochs=2, start=WarmStart(raw))
    stored = dataclasses.replace(solver, stream=str(tmp_path))
    one, many, streamed = (
        tacit.fit(ratings, each, epsilon=math.inf, threads=threads).model
        for each, threads in ((solver, 1), (solver, 3), (stored, 2))
    )
    for other in (many, streamed):
        np.testing.assert_array_equal(one.item_factors, other.item_factors)
        np.testing.assert_array_equal(one.item_offsets, other.item_offsets)


def test_snapshots_of_another_start_are_refused(ratings, raw, noisy, tmp_path):
    def fitted(start):
        solver = tacit.SGD(rank=RANK, epochs=1, snapshots=str(tmp_path), start=start)
        return tacit.fit(ratings, solver, epsilon=math.inf)

    fitted(WarmStart(raw))
    fitted(WarmStart(raw))
    for other in (WarmStart(noisy), None):
        with pytest.raises(Exception, match=r"raw ratings\.model"):
            fitted(other)


# --- matching ------------------------------------------------------------------------------------


def model_of(ids, V, offsets, scale=(1, 5), **fold):
    rows = {"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [5.0, 3.0, 4.0]}
    made = tacit.fit(tacit.read(pa.table(rows)), tacit.ItemOffsets(), epsilon=math.inf)
    fold = FoldIn(np.array(V, np.float32), Centring(np.array(offsets, float)), **fold)
    return ItemModel(np.array(ids), fold, scale, made.statement)


def test_items_are_matched_by_id_and_moved_to_the_scale():
    model = model_of([3, 1, 2], [[1, 0], [0, 2], [2, 2]], [4.0, 2.0, 3.0], ridge=0.5)
    start = WarmStart(model, "public ratings").on(np.array(["1", "9", "3"], object), 0, 8)
    public = Public(n_users=5, n_items=3, low=0, high=8, mu=1.0)
    assert start.known.tolist() == [True, False, True]
    np.testing.assert_allclose(start.offsets(public), [-2, 0, 2])
    np.testing.assert_allclose(start.matched.item_factors, [[0, 4], [0, 0], [2, 0]])
    assert start.matched.ridge == 2.0
    scaled = start.scaled(3, 1.0)
    assert np.isnan(scaled[1]).all()
    assert np.mean(scaled[[0, 2]] ** 2) == pytest.approx(1.0)
    usual = np.full((3, 3), 0.5)
    V, home = start.begin(usual, level=1, hold=np.ones(3))
    np.testing.assert_allclose(V[1], 0.5)
    np.testing.assert_allclose(V[:, 0], 0.5)
    np.testing.assert_allclose(home[1], 0)
    np.testing.assert_allclose(home[[0, 2]], V[[0, 2]])
    # Users who tell a quarter of all that is known, and none of the second item.
    _, home = start.begin(usual, level=1, hold=np.array([4 / 3, 1, 4 / 3]))
    np.testing.assert_allclose(home[[0, 2], 1:], 0.5 * V[[0, 2], 1:])
    np.testing.assert_allclose(home[[0, 2], 0], 0.5)


def test_ridges_hold_on_to_a_start_as_its_users_would(raw, ratings):
    """Twice as many users with a count of 3 pull like 6 ratings more; noise hides who they are."""
    n_items = len(ratings.catalogue.ids)
    start = WarmStart(raw, "public ratings").on(ratings.catalogue.ids, 1, 5)
    n = np.full(n_items, 3.0)
    n_users = raw.statement.n_users / 2
    chance = 1.5 * n.sum() / n_users  # then a ridge without noise is 1.5
    np.testing.assert_allclose(start.hold(n, chance, n_users), 1 + 6 / 1.5)
    private = tacit.fit(ratings, tacit.ALS(rank=2), epsilon=1.0).model
    after = WarmStart(private).on(ratings.catalogue.ids, 1, 5)
    np.testing.assert_allclose(after.hold(n, chance, n_users), 1.0)


def test_a_level_is_known_by_being_alike():
    alike = WarmStart(model_of([1, 2], [[0.8, 1], [0.8, 2]], [3, 3]))
    assert (alike.level, WarmStart(model_of([1, 2], [[0.8, 1], [0.7, 2]], [3, 3])).level) == (1, 0)
    assert alike.rank(None, level=0) == 1
    assert alike.rank(2, level=1) == 2


@pytest.mark.parametrize(("name", "right"), [("als", 5), ("langevin", 5), ("gradient", 4)])
def test_the_rank_must_agree(name, right, ratings, raw):
    with pytest.raises(ValueError, match=f"rank 7 does not agree .* 4 factors.*rank={right}"):
        tacit.fit(ratings, started(name, raw, rank=7), epsilon=1.0)
    model = tacit.fit(ratings, started(name, raw), epsilon=1.0).model
    assert model.item_factors.shape[1] == right
    with pytest.raises(ValueError, match=r"rank 64 does not agree .* rank=4"):
        tacit.fit(ratings, tacit.SGD(start=WarmStart(raw)), epsilon=math.inf)


def test_what_is_no_start_is_refused(ratings, raw, whole):
    with pytest.raises(TypeError, match="an ItemModel"):
        WarmStart("model/")
    with pytest.raises(ValueError, match="trained_on must be"):
        WarmStart(raw, "nothing")
    offsets = tacit.fit(whole, tacit.ItemOffsets(), epsilon=math.inf).model
    with pytest.raises(ValueError, match="no factors to start from"):
        WarmStart(offsets)
    other_step = tacit.fit(whole, tacit.FrankWolfe(), epsilon=math.inf).model
    with pytest.raises(ValueError, match="do not solve least squares"):
        WarmStart(other_step)
    stranger = model_of(["x", "y"], [[1.0], [2.0]], [3, 3])
    partly = model_of([str(whole.catalogue.ids[0]), "y"], [[0.0], [2.0]], [3, 3])
    for model in (stranger, partly):
        with pytest.raises(ValueError, match="has factors for none of these items"):
            tacit.fit(ratings, started("als", model), epsilon=1.0)
    with pytest.raises(ValueError, match=r"matched to the items by tacit\.fit"):
        WarmStart(raw).scaled(60, 1.0)


def test_a_model_says_what_it_was_started_from_without_its_numbers(ratings, raw):
    fit = tacit.fit(ratings, started("als", raw), epsilon=1.0)
    assert fit.model.made_by.parameters["start"] == {"trained_on": "public ratings"}
    assert "array" not in repr(started("als", raw))
    json.dumps(fit.model.made_by.parameters)
