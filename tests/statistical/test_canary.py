# SPDX-License-Identifier: Apache-2.0
"""Each solver under the best attack there is: it reaches the claimed mu and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tacit.accounting.public import Public
from tacit.audit.canary import Audit, audit
from tacit.data.block import UserBlock
from tacit.mechanisms import curator
from tacit.mechanisms.gaussian import add_noise
from tacit.solvers import ALS, SOLVERS
from tacit.solvers.implicit import Implicit
from tacit.solvers.per_item import PerItem

if TYPE_CHECKING:
    from tacit.accounting.release import Plan

pytestmark = pytest.mark.statistical

N_USERS, N_ITEMS, MU, RUNS = 60, 30, 1.5, 200


def users(rng):
    sizes = rng.integers(5, 15, N_USERS - 1)
    return UserBlock(
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items=np.concatenate([np.sort(rng.permutation(N_ITEMS)[:size]) for size in sizes]).astype(
            np.int32
        ),
        values=rng.integers(1, 6, sizes.sum()).astype(np.float32),
        n_items=N_ITEMS,
    )


def canary():
    """She rates as far from her own mean as the scale allows, on few items: at every bound."""
    items = np.arange(6, dtype=np.int32)
    values = np.where(items % 2, 1.0, 5.0).astype(np.float32)
    return UserBlock(np.array([0, 6]), items, values, N_ITEMS)


# Small problems leave user factors far below their bound; here they are let grow to it, so that the
# canary weighs as much as anybody may.
AT_THE_BOUND = {
    "frank-wolfe": {"steps": 3, "offset_share": 0.0},
    "projected-gradient": {"steps": 1, "rank": 1, "row_bound": 1.0, "offset_share": 0.0},
    "svd": {"offset_share": 0.0},
    "als": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "factor_bound": 0.2},
    "gradient": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "alpha_1": 0.1},
    "langevin": {"rank": 3, "steps": 4, "chance": 0.01, "explained": 10.0, "factor_bound": 0.2},
}


# Solvers under other settings, whose releases are others.
MORE = {
    "als, gram per item": ALS(**AT_THE_BOUND["als"], gram="per-item"),
    "als, implicit": ALS(rank=3, steps=4, factor_bound=0.2, feedback="implicit"),
    "als, counted": ALS(rank=3, steps=4, factor_bound=0.2, feedback=Implicit(count_weight=0.4)),
    "als as published": ALS(
        rank=2,
        steps=2,
        gram=PerItem(
            ridge=0.01,
            sampling="rarest",
            items_per_user=6,
            frequent=0.9,
            centring="global",
            item_power=0.5,
            unobserved=0.01,
            user_bound=0.1,
            clip=0.3,
            start="spectral",
        ),
    ),
}
ATTACKED = sorted({*SOLVERS, *MORE})


def attacked(name, rng, level=None) -> Audit:
    solver = MORE[name] if name in MORE else SOLVERS[name](**AT_THE_BOUND.get(name, {}))
    public = Public(n_users=N_USERS, n_items=N_ITEMS, low=1, high=5, mu=MU)
    rough = solver.plan(public)
    plan: Plan = rough.scaled(rough.mu / MU)
    her = canary()
    if level is not None:
        her = replace(her, levels=np.array([level], np.float32))
    runs = RUNS // 2 if name in MORE else RUNS
    return audit(solver, users(rng), her, plan, public, runs=runs)


@pytest.mark.parametrize("name", ATTACKED)
def test_the_attack_reaches_mu_and_no_more(name, rng):
    found = attacked(name, rng)
    assert found.claimed == pytest.approx(MU)
    assert not found.refuted, found
    assert found.reached > 0.7 * MU - 4 * found.error, "the canary is not near the bounds"


@pytest.mark.parametrize("name", ATTACKED)
def test_the_attack_notices_half_the_noise(name, rng, monkeypatch):
    def half(sums, std, source, *, symmetric):
        return add_noise(sums, std / 2, source, symmetric=symmetric)

    monkeypatch.setattr(curator, "add_noise", half)
    assert attacked(name, rng).refuted


# That shares are scaled is tested for every sum there is (tests/property); one solver suffices.
BY_DAY = {"langevin"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each in BY_DAY else pytest.mark.nightly) for each in ATTACKED],
)
def test_a_user_s_own_level_halves_what_the_attack_reaches(name, rng):
    found = attacked(name, rng, level=0.5)
    assert found.claimed == pytest.approx(MU / 2)
    assert not found.refuted, found
    assert found.reached > 0.7 * MU / 2 - 4 * found.error
