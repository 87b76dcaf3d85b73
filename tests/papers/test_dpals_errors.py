# SPDX-License-Identifier: Apache-2.0
"""The errors of "Private Alternating Least Squares", one by one: tacit's form of it has none.

docs/papers.md tells each. Those that are tested elsewhere: the clip with max for min
(`test_long_rows_are_shortened_and_short_rows_are_left_alone`), clipping before centring
(`test_item_sums_and_counts`), the normaliser over users as a sum
(`test_one_user_moves_nothing_but_her_own_share`).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.solvers.als import ALS
from tacit.solvers.per_item import PerItem

M, K, T, CLIP = 40, 8, 3, 0.5
PUBLIC = Public(n_users=300, n_items=M, low=1, high=5, mu=1.0)
PAPER = PerItem(
    ridge=1.0, sampling="rarest", items_per_user=K, centring="global", clip=CLIP, user_bound=0.7
)


def solver(**options):
    return ALS(rank=2, steps=T, gram=dataclasses.replace(PAPER, **options))


def planned(**options):
    return calibrate(solver(**options).plan(PUBLIC), 1.0, 1e-6)


def crowd(rng, users=300):
    rows = [np.sort(rng.permutation(M)[: rng.integers(4, 16)]) for _ in range(users)]
    items = np.concatenate(rows).astype(np.int32)
    values = rng.integers(1, 6, len(items)).astype(np.float32)
    return UserBlock(np.cumsum([0, *map(len, rows)]).astype(np.int64), items, values, M)


class Recorder:
    """A curator that keeps every question, and may answer some of them with a plant."""

    def __init__(self, block, plan, plants=()):
        self._curator = DataCurator(LocalThreads(block), PUBLIC, plan, SeededSource(1))
        self.public, self.plan = self._curator.public, self._curator.plan
        self.plants, self.asked = dict(plants), []

    @property
    def ledger(self):
        return self._curator.ledger

    def noisy_sum(self, contribution, release):
        self.asked.append((release, contribution))
        answer = self._curator.noisy_sum(contribution, release)
        return self.plants.get(release, answer)

    def questions(self, release):
        return [contribution for name, contribution in self.asked if name == release]


def test_theorem_1_both_releases_of_a_step_are_paid_for():
    """mu^2 of the steps is k T (1 / sigma_G^2 + 1 / sigma_g^2), not one of the two terms."""
    plan = planned()
    gram, rhs = plan["factors.gram"], plan["factors.rhs"]
    sigma_G, sigma_g = gram.std / 0.7**2, rhs.std / (0.7 * CLIP * PUBLIC.width)
    steps = K * T * (1 / sigma_G**2 + 1 / sigma_g**2)
    others = plan["mean.sum"].mu_squared + plan["counts.count"].mu_squared
    assert plan.mu**2 == pytest.approx(steps + others, rel=1e-3)
    assert gram.times == rhs.times == T


def test_the_noisy_mean_does_not_pay_for_one_rating_where_a_user_has_k(rng):
    """One number from each user, her own mean: with k or 10,000 ratings she moves it alike."""
    assert planned(items_per_user=8)["mean.sum"].l2 == planned(items_per_user=32)["mean.sum"].l2
    recorder = Recorder(crowd(rng), planned())
    solver().fit(recorder)
    (mean,) = recorder.questions("mean")
    for rated in (1, M):
        heavy = UserBlock(
            np.array([0, rated]), np.arange(rated, dtype=np.int32), np.full(rated, 5.0, np.float32),
            M,
        )  # fmt: skip
        (part,) = mean.parts
        assert int(mean(heavy)["sum"][0]) == part.limit
        assert part.l2 == PUBLIC.width


def test_the_noisy_mean_is_near_the_mean(rng):
    block = crowd(rng)
    recorder = Recorder(block, solver().plan(PUBLIC).scaled(0.0))
    fold = solver().fit(recorder)
    sums = np.add.reduceat(block.values, block.indptr[:-1])
    np.testing.assert_allclose(
        fold.centring.offsets, np.mean(sums / np.diff(block.indptr)), rtol=1e-5
    )


def test_the_spectral_start_pays_for_a_row_of_k_ratings():
    """A row of k ratings up to Gamma_M weighs k Gamma_M^2 in the second moment, not Gamma_M^2."""
    clip = CLIP * PUBLIC.width
    start = planned(start="spectral")["start.covariance"]
    assert start.l2 == pytest.approx(K * clip**2, rel=1e-3)
    assert planned(start="spectral", items_per_user=4 * K)["start.covariance"].l2 == pytest.approx(
        4 * start.l2, rel=1e-3
    )


def test_no_user_changes_another_one_s_ridge(rng):
    """Z is public: with a user who rated everything, all others are told the same ridge."""
    few = crowd(rng)
    everything = UserBlock(
        np.append(few.indptr, few.indptr[-1] + M),
        np.append(few.items, np.arange(M, dtype=np.int32)),
        np.append(few.values, np.full(M, 5, np.float32)),
        M,
    )
    folds = []
    for block in (few, everything):
        recorder = Recorder(block, planned(user_power=1.0))
        solver(user_power=1.0).fit(recorder)
        folds += [question.users.fold for question in recorder.questions("factors")]
    rows = few.rows(0, 5)
    ridges = np.array([fold.ridges(rows) for fold in folds])
    assert np.array_equal(ridges, np.broadcast_to(ridges[0], ridges.shape))
    np.testing.assert_allclose(ridges[0], np.diff(rows.indptr) / PAPER.usual_ratings, rtol=1e-6)


def test_frequent_items_are_those_of_the_noisy_counts(rng):
    """What was answered decides, not what was rated: no exact split."""
    answered = 1e4 * (rng.permutation(M) + 1.0)
    plants = {"counts": {"count": answered}}
    recorder = Recorder(crowd(rng), planned(frequent=0.25), plants)
    fold = solver(frequent=0.25).fit(recorder)
    factors = fold.item_factors.any(axis=1)
    assert set(np.flatnonzero(factors)) == set(np.argsort(answered)[-math.ceil(0.25 * M) :])


def test_the_regulariser_of_items_divides_by_released_counts(rng):
    """Z' is a mean of answers; whoever knows them can compute it."""
    loss_of = solver(item_power=1.0)
    answered = np.arange(1.0, M + 1) * 10
    big = {"count": answered}
    recorder = Recorder(crowd(rng), planned(item_power=1.0), {"counts": big, "recounts": big})
    loss_of.fit(recorder)
    assert [name for name, _ in recorder.asked[:3]] == ["mean", "counts", "recounts"]


def test_the_matrix_k_is_paid_for_in_every_step(rng):
    assert "unobserved.gram" not in planned()
    plan = planned(unobserved=0.3)
    release = plan["unobserved.gram"]
    assert release.times == T
    assert release.l2 == pytest.approx(0.7**2)
    recorder = Recorder(crowd(rng), plan)
    solver(unobserved=0.3).fit(recorder)
    spent = {each.name: each.times for each in recorder.ledger.releases}
    assert spent["unobserved.gram"] == T


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"frequent": 0.5, "item_power": 1.0},
        {"sampling": "uniform", "frequent": 0.5},
        {"sampling": "weights", "weight_power": 0.5},
        {"unobserved": 1.0, "start": "spectral"},
    ],
)
def test_there_are_no_counts_without_noise(options):
    plan = planned(**options)
    assert all(release.std > 0 for release in plan.releases)
    assert plan.epsilon(1e-6) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="count_share must be between 0 and 1"):
        planned(count_share=0.0)


def test_noise_of_right_hand_sides_grows_with_the_clip_of_ratings(rng):
    """Gamma_u Gamma_M sigma, not Gamma_u sigma; and ratings are cut after the centring."""
    assert planned(clip=2 * CLIP)["factors.rhs"].std == pytest.approx(
        2 * planned()["factors.rhs"].std
    )
    assert planned(clip=2 * CLIP)["factors.gram"].std == planned()["factors.gram"].std
    recorder = Recorder(crowd(rng), planned())
    solver().fit(recorder)
    for question in recorder.questions("factors"):
        assert question.rows.clip == CLIP * PUBLIC.width
        offset = float(question.rows.centring.offsets[0])
        extreme = UserBlock(np.array([0, 1]), np.zeros(1, np.int32), np.array([5.0], "f4"), M)
        (centred,) = question.rows.prepared(extreme).values
        assert centred == pytest.approx(5 - offset)
