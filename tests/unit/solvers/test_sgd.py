# SPDX-License-Identifier: Apache-2.0
"""SGD: non-private only and saying so, as good as it should be, the same bits however it runs."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import tacit
from tacit.accounting.public import Public
from tacit.cli.settings import Algorithm
from tacit.datasets import movielens_like
from tacit.evaluation import leave_part_out
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers import SOLVERS, UNPROTECTED
from tacit.training import Budget, Execution, train


@pytest.fixture(scope="module")
def ratings():
    return movielens_like(users=500, items=80, ratings=15_000)


SMALL = tacit.SGD(rank=8, epochs=5)


def fitted(ratings, solver, threads=1):
    return tacit.fit(ratings, solver, epsilon=math.inf, threads=threads)


def same(one, other):
    a, b = one.model.folding, other.model.folding
    return np.array_equal(a.item_factors, b.item_factors) and np.array_equal(
        a.centring.offsets, b.centring.offsets
    )


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
def test_every_finite_budget_is_refused_before_anything_is_spent(ratings, tmp_path, epsilon):
    journal = tmp_path / "journal"
    with pytest.raises(ValueError, match=r"no noise makes it private: .* epsilon=math\.inf"):
        tacit.fit(ratings, SMALL, epsilon=epsilon, journal=journal)
    assert not journal.exists()


def test_the_statement_says_not_private_in_its_first_line(ratings):
    statement = fitted(ratings, SMALL).statement
    assert str(statement).startswith("NOT PRIVATE: no noise on 'raw ratings.model'\n")
    assert statement.plain().startswith("NOT PRIVATE")
    assert json.loads(statement.to_json())["status"].startswith("NOT PRIVATE")
    assert math.isinf(statement.epsilon)


def test_the_ledger_equals_the_plan_and_a_rehearsal_has_the_shapes():
    public = Public(n_users=10, n_items=7, low=1, high=5, mu=math.inf)
    rehearsal = Rehearsal(public, SMALL.plan(public))
    fold_in = SMALL.fit(rehearsal)
    assert rehearsal.ledger.releases == SMALL.plan(public).releases
    assert fold_in.item_factors.shape == (7, 8)
    assert fold_in.centring.offsets.shape == (7,)


def test_it_is_found_by_its_name_but_not_among_those_that_can_be_private():
    assert isinstance(Algorithm("sgd", ["rank=16", "order=lock-free"]).solver(), tacit.SGD)
    assert "sgd" in UNPROTECTED
    assert not SOLVERS.keys() & UNPROTECTED.keys()


def test_it_beats_item_offsets_on_new_ratings(ratings):
    known, asked = leave_part_out(movielens_like(users=3000, items=300, ratings=150_000))
    fits = [fitted(known, s) for s in (tacit.SGD(), tacit.ItemOffsets())]
    known, asked = known.block, asked.block
    errors = [
        float(np.sqrt(np.mean((fit.model.folding.predict(known, asked) - asked.values) ** 2)))
        for fit in fits
    ]
    assert errors[0] < 0.98 * errors[1]


def test_threads_files_and_snapshots_change_no_bit(ratings, tmp_path):
    plain = fitted(ratings, SMALL)
    assert same(plain, fitted(ratings, SMALL, threads=3))
    folders = {"stream": str(tmp_path / "s"), "snapshots": str(tmp_path / "n")}
    kept = fitted(ratings, dataclasses.replace(SMALL, **folders))
    assert same(plain, kept)
    longer = dataclasses.replace(SMALL, epochs=8)
    gone_on = fitted(ratings, dataclasses.replace(longer, **folders))
    assert same(gone_on, fitted(ratings, longer))
    assert not same(gone_on, plain)


def test_a_model_does_not_name_the_folders_of_its_training(ratings, tmp_path):
    kept = fitted(ratings, dataclasses.replace(SMALL, stream=str(tmp_path / "s")))
    assert kept.model.made_by.parameters["rank"] == 8
    assert not {"stream", "snapshots"} & kept.model.made_by.parameters.keys()


def test_a_temperature_makes_samples(ratings):
    warm = dataclasses.replace(SMALL, temperature=0.5)
    one, other = fitted(ratings, warm), fitted(ratings, warm)
    assert not same(one, other)
    assert np.all(np.isfinite(one.model.folding.item_factors))
    assert not one.statement.private, "noise without bounds is no protection"


def test_without_factors_there_are_offsets(ratings):
    fold_in = fitted(ratings, tacit.SGD(rank=0, epochs=5)).model.folding
    assert fold_in.item_factors.shape == (80, 0)
    assert fold_in.centring.offsets.std() > 0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"rank": -1}, "rank must be at least 0, got -1"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"rate": 0.0}, "rate must be above 0 and below 1"),
        ({"rate": 1.0}, "rate must be above 0 and below 1"),
        ({"rate": math.nan}, "rate must be above 0 and below 1"),
        ({"decay": -0.1}, "decay must be at least 0"),
        ({"ridge": math.inf}, "ridge must be at least 0"),
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"order": "any"}, 'order must be "deterministic" or "lock-free"'),
    ],
)
def test_settings_are_checked(setting, words):
    with pytest.raises(ValueError, match=words):
        tacit.SGD(**setting)


def test_nobody_and_a_single_rating():
    import scipy.sparse

    matrix = scipy.sparse.csr_matrix(([5.0], ([2], [1])), shape=(4, 3))
    ratings = tacit.read(matrix, user_axis="rows", scale=(1, 5), items=["a", "b", "c"])
    fold_in = train(ratings, SMALL, Budget(math.inf, 1e-3), Execution()).model.folding
    assert np.all(np.isfinite(fold_in.item_factors))
    assert np.all(np.isfinite(fold_in.centring.offsets))
