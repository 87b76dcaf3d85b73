# SPDX-License-Identifier: Apache-2.0
"""The composition root: what is stated is what was spent, and nothing unpaid starts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting.calibrate import default_delta
from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, ItemSums, Rows
from tacit.data.block import UserBlock
from tacit.folding import Centring, FoldIn
from tacit.mechanisms.entropy import NoiseSource, SeededSource
from tacit.training import Budget, Execution, train

N_USERS, N_ITEMS = 60, 20


@pytest.fixture(scope="module")
def ratings():
    return tacit.datasets.movielens_like(users=N_USERS, items=N_ITEMS, ratings=600)


@dataclass(frozen=True)
class Thrifty:
    """Plans two releases, asks for the first, and for the second with a smaller bound."""

    asks: tuple[str, ...] = ("counts",)
    bound: float = 0.5

    def plan(self, public):
        m = public.n_items
        return Plan(
            (
                Release.share("counts.count", l2=1.0, share=0.5, size=m, cone=True),
                Release.share("means.sum", l2=1.0, share=0.5, times=2, size=m),
            )
        )

    def fit(self, curator):
        m = curator.public.n_items
        if "counts" in self.asks:
            curator.noisy_sum(ItemCounts(m, Rows()), "counts")
        if "means" in self.asks:
            curator.noisy_sum(ItemSums(m, Rows(), self.bound), "means")
        return FoldIn(np.zeros((m, 0), np.float32), Centring(np.zeros(m)))


def trained(ratings, solver, epsilon=1.0, source=None):
    execution = Execution(source=source or NoiseSource(), threads=1)
    return train(ratings, solver, Budget(epsilon, 1e-3), execution).statement


def test_the_statement_is_of_what_was_spent_not_of_what_was_planned(ratings):
    whole = trained(ratings, Thrifty(("counts", "means")))
    half = trained(ratings, Thrifty())
    assert [release.name for release in half.releases] == ["counts.count"]
    assert [(r.name, r.l2, r.times) for r in whole.releases] == [
        ("counts.count", 1.0, 1),
        ("means.sum", 0.5, 1),
    ]
    assert half.epsilon < whole.epsilon < 1.0


def test_the_whole_budget_is_spent_and_no_more(ratings):
    for epsilon in (0.3, 1.0, 5.0):
        statement = trained(ratings, tacit.ItemOffsets(), epsilon)
        assert epsilon * (1 - 1e-8) <= statement.epsilon <= epsilon
        assert statement.delta == 1e-3
        assert statement.private


def test_without_a_delta_it_is_the_default(ratings):
    assert tacit.fit(ratings, epsilon=1.0).statement.delta == default_delta(N_USERS) == 1e-3


def test_seeded_noise_is_told(ratings):
    statement = trained(ratings, tacit.ItemOffsets(), source=SeededSource(1))
    assert not statement.private
    assert statement.tainted == "seeded noise"
    assert "keyed by a seed" in statement.noise_source


def test_no_budget_is_no_privacy(ratings):
    statement = trained(ratings, tacit.ItemOffsets(), math.inf)
    assert not statement.private
    assert statement.epsilon == math.inf


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_epsilon_must_be_above_0(ratings, epsilon):
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        tacit.fit(ratings, epsilon=epsilon)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_be_a_probability(ratings, delta):
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        tacit.fit(ratings, epsilon=1.0, delta=delta)


def test_a_delta_that_would_allow_publishing_a_row_is_warned_of(ratings):
    with pytest.warns(UserWarning, match="above 1/n with n = 60 users") as warned:
        tacit.fit(ratings, epsilon=1.0, delta=0.02)
    assert warned[0].filename == __file__
    tacit.fit(ratings, epsilon=1.0, delta=1 / N_USERS)


def test_threads_change_nothing(ratings):
    one, many = (
        train(
            ratings,
            tacit.ItemOffsets(),
            Budget(1.0, 1e-3),
            Execution(SeededSource(4), threads=threads),
        ).model
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.item_offsets, many.item_offsets)


def test_the_journal_and_the_statement_agree(ratings, tmp_path):
    journal = tmp_path / "spent.jsonl"
    statement = tacit.fit(ratings, epsilon=1.0, journal=journal).statement
    spent = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(spent) == sum(release.times for release in statement.releases)
    assert math.fsum(line["mu2"] for line in spent) == pytest.approx(statement.mu**2, rel=1e-12)


def test_what_was_taken_as_public_is_told(ratings):
    made_up = tacit.fit(ratings, epsilon=1.0).statement
    assert any("item catalogue" in line for line in made_up.public)
    assert any("rating scale" in line for line in made_up.public)
    rows = {"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [5.0, 3.0, 4.0]}
    table = pa.table(rows)
    loud = tacit.fit(tacit.read(table), epsilon=1.0).statement.public
    assert any("EVERY ITEM OF THE RATINGS (2) WAS TAKEN AS PUBLIC" in line for line in loud)
    assert any("1 to 5, RECOGNISED IN THE RATINGS" in line for line in loud)
    told = tacit.fit(tacit.read(table, items=["a", "b", "c"], scale=(0, 5)), epsilon=1.0)
    assert "item catalogue: 3 items, given apart from the ratings" in told.statement.public
    assert "rating scale: 0 to 5, declared" in told.statement.public


def own_privacy(**columns):
    users = np.repeat(np.arange(40), 3)
    table = {"user": users, "item": np.tile([0, 1, 2], 40), "rating": users % 5 + 1}
    return {**table, **{name: np.asarray(make(users)) for name, make in columns.items()}}


def test_levels_of_users_reach_the_sums_and_the_statement(monkeypatch):
    seen = []
    monkeypatch.setattr(UserBlock, "check", lambda block: seen.append(block.levels))
    by_level = tacit.read(pa.table(own_privacy(privacy=lambda user: np.where(user < 20, 0.5, 1))))
    statement = trained(by_level, tacit.ItemOffsets())
    assert any("privacy level of their own" in each for each in statement.public)
    assert statement.epsilon_of(1.0) == statement.epsilon
    assert statement.epsilon_of(0.5) < 0.55 * statement.epsilon
    assert statement.epsilon_of(0.5, "replace-one") < 0.55 * statement.epsilon_replace
    table = pa.table(own_privacy(privacy=lambda user: np.where(user < 20, 0.25, 100.0)))
    statement = trained(tacit.read(table, privacy_unit="epsilon"), tacit.ItemOffsets())
    by_level, by_epsilon = seen
    assert by_level.tolist() == [0.5] * 20 + [1.0] * 20
    assert (
        statement.epsilon_of(by_epsilon[0]) <= 0.25 < statement.epsilon_of(by_epsilon[0] + 1 / 256)
    )
    assert by_epsilon[20:].tolist() == [1.0] * 20


def test_rows_that_no_engine_knows_are_refused_before_anything_is_spent(ratings, tmp_path):
    class Elsewhere:
        n_users, n_items = N_USERS, N_ITEMS

    journal = tmp_path / "journal"
    strange = replace(ratings, rows=Elsewhere(), ids=None)
    with pytest.raises(TypeError, match="no engine adds up a Elsewhere"):
        tacit.fit(strange, epsilon=1.0, delta=1e-3, journal=journal)
    assert not journal.exists()
    for look in ("block", "user_ids"):
        with pytest.raises(tacit.DataError, match="do not lie in memory"):
            getattr(strange, look)
