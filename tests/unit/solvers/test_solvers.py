# SPDX-License-Identifier: Apache-2.0
"""What every solver must do; a new one is tested by standing in the table."""

from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np
import pytest

from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers import SOLVERS

PUBLICS = [
    Public(n_users=100, n_items=40, low=1, high=5, mu=0.3),
    Public(n_users=10**8, n_items=7, low=-10, high=10, mu=3.0),
    Public(n_users=2, n_items=1, low=0, high=1, mu=math.inf),
]


# These rank by how often an item was rated, whatever the ratings.
BY_POPULARITY = {"popularity"}


def users(rng, n_users=120, n_items=40):
    """Item j is rated around 1 + 3 j / n_items, each user a little higher or lower."""
    rows = []
    for _ in range(n_users):
        items = np.sort(rng.permutation(n_items)[: rng.integers(5, 25)])
        level = rng.normal(0, 0.3)
        rows.append((items, np.clip(1 + 3 * items / n_items + level, 1, 5)))
    indptr = np.cumsum([0, *(len(items) for items, _ in rows)])
    return UserBlock(
        indptr=indptr.astype(np.int64),
        items=np.concatenate([items for items, _ in rows]).astype(np.int32),
        values=np.concatenate([values for _, values in rows]).astype(np.float32),
        n_items=n_items,
    )


def trained(name, block, *, seed=1, threads=1, std_factor=0.0):
    solver = SOLVERS[name]()
    public = Public(block.n_users, block.n_items, low=1, high=5, mu=math.inf)
    plan = solver.plan(public).scaled(std_factor)
    engine = LocalThreads(block, threads=threads, ratings_per_block=100)
    curator = DataCurator(engine, public, plan, SeededSource(seed))
    return solver.fit(curator)


@pytest.mark.parametrize("public", PUBLICS)
@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_ledger_equals_plan(name, public):
    """What a solver releases is what it declared: names, bounds, noise, sizes and times."""
    solver = SOLVERS[name]()
    plan = calibrate(solver.plan(public), 1.0, 1e-6)
    rehearsal = Rehearsal(public, plan)
    fold_in = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    assert fold_in.n_items == public.n_items
    assert np.all(np.isfinite(fold_in.item_factors))
    assert np.all(np.isfinite(fold_in.centring.offsets))


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_a_solver_is_a_frozen_value_with_checked_fields(name):
    solver = SOLVERS[name]()
    hints = typing.get_type_hints(type(solver))
    for field in dataclasses.fields(solver):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(solver, field.name, 1)
        if hints[field.name] in (int, float):
            with pytest.raises(ValueError, match=f"{field.name} must be"):
                dataclasses.replace(solver, **{field.name: -1})
    assert solver == SOLVERS[name]()


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_threads_change_nothing_and_noise_does(name, rng):
    block = users(rng)
    one, many, other = (
        trained(name, block, seed=seed, threads=threads, std_factor=1.0)
        for seed, threads in ((1, 1), (1, 4), (2, 1))
    )
    np.testing.assert_array_equal(one.centring.offsets, many.centring.offsets)
    np.testing.assert_array_equal(one.item_factors, many.item_factors)
    assert not np.array_equal(one.centring.offsets, other.centring.offsets)


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - BY_POPULARITY))
def test_without_noise_the_items_are_ranked_as_they_were_rated(name, rng):
    fold_in = trained(name, users(rng))
    ranked = np.argsort(fold_in.centring.offsets)
    assert np.corrcoef(ranked, np.arange(len(ranked)))[0, 1] > 0.98


@pytest.mark.parametrize("name", sorted(BY_POPULARITY))
def test_without_noise_the_items_are_ranked_as_often_as_they_were_rated(name, rng):
    """Item j is rated by a share (j + 1) / n_items of users who rate equally many, at random."""
    n_users, n_items, each = 800, 20, 6
    shares = np.arange(1, n_items + 1) / n_items
    race = rng.standard_exponential((n_users, n_items)) / shares
    items = np.sort(np.argsort(race, axis=1)[:, :each], axis=1).ravel().astype(np.int32)
    values = rng.integers(1, 6, len(items)).astype(np.float32)
    block = UserBlock(np.arange(0, len(items) + 1, each, dtype=np.int64), items, values, n_items)
    offsets = trained(name, block).centring.offsets
    counts = np.bincount(items, minlength=n_items)
    assert np.all(np.diff(offsets[np.argsort(counts, kind="stable")]) >= -1e-9)
    assert len(np.unique(counts)) > 10


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_nobody_and_a_single_rating(name):
    """Empty rows and one rating are data like any other."""
    nobody = UserBlock(
        np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), n_items=5
    )
    one = UserBlock(np.array([0, 0, 1]), np.array([3], np.int32), np.array([5.0], np.float32), 5)
    for block in (nobody, one):
        fold_in = trained(name, block)
        assert np.all(np.isfinite(fold_in.centring.offsets))
