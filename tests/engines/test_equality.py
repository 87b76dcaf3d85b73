# SPDX-License-Identifier: Apache-2.0
"""Every solver in every form: the same sums and models from memory and from disk.

Here on 1, 2 and 4 threads and with three sizes of blocks; on Spark in test_spark.py. The chain of
`Langevin(guarantee="posterior")` is not here: it promises nothing, and adds up real numbers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
import tacit.training
from tacit.contributions.descent import Descent
from tacit.data.catalogue import Catalogue
from tacit.data.prepared import open_prepared
from tacit.data.preparing import prepare
from tacit.datasets import movielens_like
from tacit.engines.local import LocalThreads
from tacit.engines.stream import StreamedParquet
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.solvers import SOLVERS
from tacit.training import Budget, Execution, train

# Small data would get no factors by the recipes, so each form says its rank.
FORMS = {
    "als": tacit.ALS(rank=4, steps=3),
    "als, a Gram per item": tacit.ALS(rank=3, steps=2, gram="per-item"),
    "als, as published": tacit.ALS(
        rank=3,
        steps=2,
        gram=tacit.PerItem(
            ridge=1.0, centring="global", sampling="rarest", items_per_user=10, frequent=0.5
        ),
    ),
    "als, spectral start": tacit.ALS(
        rank=3, steps=2, gram=tacit.PerItem(ridge=1.0, start="spectral")
    ),
    "als, implicit": tacit.ALS(rank=3, steps=2, feedback="implicit"),
    "frank-wolfe": tacit.FrankWolfe(steps=4, direction="dense"),
    "frank-wolfe, oja": tacit.FrankWolfe(steps=4, direction="oja", oja_steps=3),
    "frank-wolfe, least squares": tacit.FrankWolfe(steps=3, users="least-squares"),
    "gradient": tacit.Gradient(rank=3, steps=6),
    "gradient, spectral start": tacit.Gradient(rank=3, steps=3, start="spectral"),
    "item-offsets": tacit.ItemOffsets(),
    "langevin": tacit.Langevin(rank=3, steps=4),
    "langevin, sampled": tacit.Langevin(rank=3, steps=4, sample_rate=0.5),
    "popularity": SOLVERS["popularity"](),
    "projected-gradient": tacit.ProjectedGradient(rank=2, steps=3),
    "svd": tacit.SVD(rank=3),
    "svd, power products": tacit.SVD(
        rank=2, method="local-projection", direction="oja", oja_steps=3
    ),
    "svd, local projection": tacit.SVD(rank=3, method="local-projection"),
    "svd, neighbours": tacit.SVD(rank=3, method="knn"),
}
GROUPS = (1, 200, 10**9)


def test_every_solver_is_here():
    assert {name.partition(",")[0] for name in FORMS} == set(SOLVERS)
    for name, solver in FORMS.items():
        assert type(solver) is SOLVERS[name.partition(",")[0]]


@pytest.fixture(scope="module")
def rows():
    return movielens_like(users=70, items=24, ratings=900, rank=3)


@pytest.fixture(scope="module")
def on_disk(rows, tmp_path_factory):
    """The same rows in row groups of one user, of some, and of all."""
    kept = []
    for size in GROUPS:
        folder = tmp_path_factory.mktemp(f"groups-of-{size}")
        catalogue = Catalogue(rows.catalogue.ids, "file")
        prepare(folder, [rows.block], 70, catalogue, rows.scale, ratings_per_group=size)
        kept.append(open_prepared(folder))
    return kept


def trained(solver, engine, monkeypatch):
    """Every sum that was asked for, in its order; what users fold in with; what was spent."""
    sums = []
    total = type(engine).total

    def recording(self, contribution):
        answer = total(self, contribution)
        sums.append({name: array.copy() for name, array in answer.items()})
        return answer

    # The noise of sampled releases is searched for, which takes half a minute; here they have none.
    epsilon = math.inf if getattr(solver, "sample_rate", 1) < 1 else 200.0
    public, plan = tacit.training.calibrated_plan(
        solver, n_users=70, n_items=24, scale=(0.5, 5), budget=Budget(epsilon, 1e-3)
    )
    curator = DataCurator(engine, public, plan, SeededSource(3))
    with monkeypatch.context() as patch:
        patch.setattr(type(engine), "total", recording)
        return sums, solver.fit(curator), curator.ledger.releases


def same(one, other):
    """To the last bit."""
    (sums, ours, spent), (other_sums, theirs, other_spent) = one, other
    assert len(sums) == len(other_sums) > 0
    for mine, hers in zip(sums, other_sums, strict=True):
        assert mine.keys() == hers.keys()
        assert all(np.array_equal(mine[name], hers[name]) for name in mine)
    np.testing.assert_array_equal(ours.item_factors, theirs.item_factors)
    np.testing.assert_array_equal(ours.centring.offsets, theirs.centring.offsets)
    assert repr(ours.step) == repr(theirs.step)
    assert spent == other_spent


@pytest.mark.parametrize("name", FORMS)
def test_threads_blocks_and_the_place_of_the_rows_change_nothing(name, rows, on_disk, monkeypatch):
    solver = FORMS[name]

    def result(engine):
        return trained(solver, engine, monkeypatch)

    expected = result(LocalThreads(rows.block, threads=1))
    assert any(array.any() for sums in expected[0] for array in sums.values())
    for threads in (2, 4):
        same(result(LocalThreads(rows.block, threads=threads, ratings_per_block=100)), expected)
    for kept, threads in zip(on_disk, (4, 1, 2), strict=True):
        same(result(StreamedParquet(kept.rows, threads=threads)), expected)
    cut = StreamedParquet(on_disk[2].rows, threads=2, ratings_per_block=60)
    same(result(cut), expected)


def test_users_on_disk_go_on_where_they_stopped(on_disk, monkeypatch):
    """A step of descent is computed once for each user, not once for each sum that follows."""
    advanced = []
    advance = Descent.advance

    def counted(self, block, state):
        advanced.append(block.n_users)
        return advance(self, block, state)

    monkeypatch.setattr(Descent, "advance", counted)
    for solver in (tacit.Gradient(rank=3, steps=5), tacit.Gradient(rank=3, steps=10)):
        advanced.clear()
        train(on_disk[1], solver, Budget(200.0, 1e-3), Execution(source=SeededSource(3)))
        assert solver.steps - 1 <= sum(advanced) / 70 <= solver.steps
