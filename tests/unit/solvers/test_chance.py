# SPDX-License-Identifier: Apache-2.0
"""What `ALS` learns about chance, and what it chooses by itself."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.solvers import ALS
from tacit.solvers.chance import Chance

N_ITEMS = 60


def ratings(rng, noise, n_users=1500):
    """Ratings around 3 of rank 2 with chance of this deviation, 30 for each user."""
    rows = [np.sort(rng.permutation(N_ITEMS)[:30]) for _ in range(n_users)]
    items = np.concatenate(rows).astype(np.int32)
    users = np.repeat(np.arange(n_users), 30)
    left, right = rng.normal(0, 1, (n_users, 2)), rng.normal(0, 0.5, (N_ITEMS, 2))
    values = 3 + np.einsum("pk,pk->p", left[users], right[items])
    values += rng.normal(0, noise, len(values))
    indptr = np.arange(0, len(items) + 1, 30, dtype=np.int64)
    return UserBlock(indptr, items, values.astype(np.float32), N_ITEMS)


def trained(solver, block, factor=0.0):
    public = Public(block.n_users, block.n_items, low=1, high=5, mu=math.inf)
    plan = solver.plan(public).scaled(factor)
    curator = DataCurator(LocalThreads(block, threads=1), public, plan, SeededSource(1))
    return solver.fit(curator)


@pytest.mark.parametrize("gram", ["shared", "per-item"])
@pytest.mark.parametrize("noise", [0.5, 0.8])
def test_chance_is_found_from_either_side(rng, gram, noise):
    """The ridge of the users is the true variance, whatever the first guess; less it, without."""
    block = ratings(rng, noise)
    nothing_is_cut = {"row_bound": 1.0, "factor_bound": 10.0}
    for guess in (0.2, 1.5):
        solver = ALS(rank=3, steps=60, averaging=1.0, chance=guess, gram=gram, **nothing_is_cut)
        assert trained(solver, block).ridge == pytest.approx(noise**2, rel=0.1)
        kept = dataclasses.replace(solver, chance_share=0)
        assert trained(kept, block).ridge == pytest.approx(guess)


def test_noise_is_believed_as_far_as_it_is_small():
    sure, unsure, deaf = (Chance.of(0.7).after(0.3, noise).value for noise in (0, 0.21, 1e3))
    assert sure == pytest.approx(0.3)
    assert unsure == pytest.approx(0.5)
    assert deaf == pytest.approx(0.7, abs=1e-6)


def test_answers_add_up(rng):
    """After many noisy answers about 0.4 the guess of 0.7 is forgotten, but not in one step."""
    chance, first = Chance.of(0.7), None
    for _ in range(60):
        chance = chance.after(rng.normal(0.4, 0.2), 0.2)
        first = first or chance
    assert abs(chance.value - 0.4) < 0.1
    assert chance.doubt < first.doubt


def test_chance_stays_above_zero():
    assert Chance.of(0.7).after(-5.0, 0.0).value == pytest.approx(0.035)
    assert Chance.of(0.7).after(-5.0, 0.1).value > 0


def test_chance_is_paid_for_unless_it_is_kept():
    public = Public(n_users=5000, n_items=30, low=1, high=5, mu=1.0)
    for gram in ("shared", "per-item"):
        plan = ALS(rank=2, gram=gram).plan(public)
        total = sum(release.mu_squared for release in plan.releases)
        assert plan["factors.chance"].mu_squared / total == pytest.approx(0.005)
        assert "factors.chance" not in ALS(rank=2, gram=gram, chance_share=0).plan(public)


def test_without_noise_every_item_has_a_gram_where_there_is_room():
    def grams(solver, **public):
        facts = {"n_users": 5000, "n_items": 50, "low": 1, "high": 5, "mu": math.inf} | public
        return solver.plan(Public(**facts))["factors.gram"].size

    rank = 32
    triangle = rank * (rank + 1) // 2
    assert grams(ALS(rank=rank)) == 50 * triangle
    assert grams(ALS(rank=rank), mu=5.0) == triangle
    assert grams(ALS(rank=rank), n_items=10**6) == triangle
    assert grams(ALS(rank=rank, gram="per-item"), mu=5.0) == 50 * triangle
    assert grams(ALS(rank=rank, gram="shared")) == triangle


def test_shares_must_leave_something_for_the_sums():
    with pytest.raises(ValueError, match="chance_share must be at least 0"):
        ALS(chance_share=-0.1)
    with pytest.raises(ValueError, match="must be below 1"):
        ALS(offset_share=0.5, gram_share=0.3, chance_share=0.2)
