# SPDX-License-Identifier: Apache-2.0
"""Each solver under the best attack there is: it reaches the claimed mu and no more.

By day the noise is seeded, so that a test fails always or never; the nightly ones draw real noise.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from tacit.audit import canary as attack
from tacit.audit.made_up import AT_THE_BOUND, alike, attacked, canary
from tacit.mechanisms import curator
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.gaussian import add_noise
from tacit.solvers import ALS, SGD, SOLVERS, SVD, FrankWolfe, Gradient, Langevin
from tacit.solvers.implicit import Implicit
from tacit.solvers.per_item import PerItem

pytestmark = pytest.mark.statistical

MU, RUNS = 1.5, 120

AS_PUBLISHED = PerItem(
    ridge=0.01,
    sampling="rarest",
    items_per_user=6,
    centring="global",
    item_power=0.5,
    unobserved=0.01,
    user_bound=0.03,
    clip=0.05,
    start="spectral",
)
# Every algorithm, and those whose settings make other releases of it.
ATTACKED = {name: kind(**AT_THE_BOUND.get(name, {})) for name, kind in SOLVERS.items()} | {
    "als, gram per item": ALS(**AT_THE_BOUND["als"], gram="per-item"),
    "als, implicit": ALS(rank=3, steps=4, factor_bound=0.2, feedback="implicit"),
    "als, counted": ALS(rank=3, steps=4, factor_bound=0.2, feedback=Implicit(count_weight=0.4)),
    "als as published": ALS(rank=2, steps=2, gram=AS_PUBLISHED),
    "frank-wolfe, oja": FrankWolfe(
        steps=3, offset_share=0.0, direction="oja", oja_steps=8, nuclear_norm=0.1
    ),
    "gradient, spectral start": Gradient(**AT_THE_BOUND["gradient"], start="spectral"),
    "svd, local projection": SVD(method="local-projection", offset_share=0.0),
    "svd, oja": SVD(
        method="local-projection", direction="oja", oja_steps=8, rank=1, offset_share=0.0
    ),
    "svd, knn": SVD(method="knn", offset_share=0.0),
}


def found(name, *, runs=RUNS, level=None):
    # A product with a random direction shows little of a canary: here all point where she does.
    users = alike() if "oja" in name else None
    her = canary()
    if level is not None:
        her = replace(her, levels=np.array([level], np.float32))
    return attacked(ATTACKED[name], mu=MU, runs=runs, users=users, her=her)


@pytest.fixture
def seeded(monkeypatch):
    numbers = count()
    monkeypatch.setattr(attack, "NoiseSource", lambda: SeededSource(next(numbers)))


@pytest.fixture
def halved(monkeypatch):
    def half(sums, std, source, *, symmetric):
        return add_noise(sums, std / 2, source, symmetric=symmetric)

    monkeypatch.setattr(curator, "add_noise", half)


def assert_just(audit, claimed=MU):
    """The attack reaches what the canary weighs, which is nearly all that is claimed."""
    assert audit.claimed == pytest.approx(claimed)
    assert 0.75 * claimed < audit.weight <= claimed * (1 + 1e-6), "she is not near the bounds"
    assert not audit.refuted, audit
    assert abs(audit.reached - audit.weight) < 4 * audit.error


@pytest.mark.parametrize("name", sorted(ATTACKED))
def test_the_attack_reaches_mu_and_no_more(name, seeded):
    assert_just(found(name))


@pytest.mark.parametrize("name", sorted(ATTACKED))
def test_the_attack_notices_half_the_noise(name, seeded, halved):
    assert found(name).refuted


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(ATTACKED))
def test_a_long_attack_with_real_noise(name):
    assert_just(found(name, runs=1000))


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(ATTACKED))
def test_a_long_attack_on_half_the_noise(name, halved):
    assert found(name, runs=1000).refuted


# That shares are scaled is tested for every sum there is (tests/property); one solver suffices.
BY_DAY = {"langevin"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each in BY_DAY else pytest.mark.nightly) for each in ATTACKED],
)
def test_a_user_s_own_level_halves_what_the_attack_reaches(name, seeded):
    assert_just(found(name, level=0.5), MU / 2)


@pytest.mark.parametrize(
    ("solver", "told"),
    [
        (SGD(), "no noise makes it private"),
        (Langevin(sample_rate=0.5, rank=2), "not on samples or chains"),
        (Langevin(guarantee="posterior", converged="assumed"), "not on samples or chains"),
    ],
)
def test_what_cannot_be_attacked_is_refused(solver, told):
    with pytest.raises(ValueError, match=told):
        attacked(solver, mu=MU, runs=2)
