# SPDX-License-Identifier: Apache-2.0
"""`ALS(offset_share=0)`: factors alone explain the ratings, for data that have no offsets."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.datasets.papers import dpals_synthetic
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers.als import ALS
from tacit.training import Budget, Execution, train

PUBLIC = Public(n_users=5000, n_items=40, low=1, high=5, mu=1.0)


@pytest.mark.parametrize("gram", ["shared", "per-item"])
@pytest.mark.parametrize("rank", [0, 3, None])
def test_only_counts_come_before_the_factors(gram, rank):
    solver = ALS(rank=rank, steps=3, offset_share=0.0, gram=gram)
    plan = calibrate(solver.plan(PUBLIC), 1.0, 1e-6)
    rehearsal = Rehearsal(PUBLIC, plan)
    fold = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    steps = {"factors.gram", "factors.gradient", "factors.chance"} if rank != 0 else set()
    assert {release.name for release in plan.releases} == {"counts.count"} | steps
    assert plan.epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)
    assert np.all(fold.centring.offsets == 3.0)


@pytest.mark.parametrize("gram", ["shared", "per-item"])
def test_exact_ratings_are_found_exactly(gram):
    """Without noise the item step ends in the truth, with as many factors as that has."""
    made = dpals_synthetic(1500, 150, 3)
    width = made.train.scale.high - made.train.scale.low
    unit = width / 4
    solver = ALS(
        rank=3,
        steps=25,
        averaging=0.6,
        chance=1e-8 / unit**2,
        explained=1 / unit**2,
        factor_bound=2.5,
        row_bound=3 / width,
        offset_share=0.0,
        gram=gram,
    )
    fold = train(made.train, solver, Budget(np.inf, 1e-5), Execution()).model.folding
    asked = made.test.block
    error = fold.predict(made.train.block, asked) - asked.values
    assert np.sqrt(np.mean(error**2)) < 2e-3
    spread = fold.item_factors.std(axis=0)
    assert spread.min() > 0.2 * spread.max(), "no factor is a level, alike for all items"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"offset_share": -0.1}, "offset_share must be at least 0"),
        ({"offset_share": np.nan}, "offset_share must be at least 0"),
        ({"offset_share": 0.0, "gram_share": 0.5}, "must be below 1"),
        ({"offset_share": 1.0}, "must be below 1"),
    ],
)
def test_wrong_shares_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ALS(**wrong)
