# SPDX-License-Identifier: Apache-2.0
"""Raw results: charged before anything is read, at an infinite price, and never with a budget."""

from __future__ import annotations

import json
import math
import traceback
from dataclasses import dataclass

import numpy as np
import pytest

import tacit
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.folding import Centring, FoldIn
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.ledger import BudgetError
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.mechanisms.unprotected import raw_result, unprotected
from tacit.training import Budget, Execution, train

BLOCK = UserBlock(
    np.array([0, 2, 3]), np.array([0, 1, 2], np.int32), np.array([1, 5, 4], np.float32), n_items=3
)
PUBLIC = Public(n_users=2, n_items=3, low=1, high=5, mu=math.inf)


@dataclass(frozen=True)
class SumOfAll:
    """A raw computation."""

    def __call__(self, rows):
        return sum(float(block.values.sum()) for block in rows.blocks())

    def rehearsed(self, n_users, n_items):
        return 0.0


class Talks(SumOfAll):
    def __call__(self, rows):
        raise IndexError(str([block.values.tolist() for block in rows.blocks()]))


def curator(plan=None, engine=None, **more):
    plan = plan or Plan((unprotected("all"),))
    return DataCurator(engine or LocalThreads(BLOCK), PUBLIC, plan, SeededSource(1), **more)


def test_the_result_is_that_of_all_rows_and_the_price_is_infinite(tmp_path):
    told, journal = [], tmp_path / "journal"
    the_curator = curator(journal=journal, progress=told.append)
    assert the_curator.raw_result(SumOfAll(), "all") == 10.0
    (spent,) = the_curator.ledger.releases
    assert (spent.name, spent.std) == ("all", 0.0)
    assert math.isinf(spent.mu_squared)
    assert told == ["all"]
    assert json.loads(journal.read_text())["release"] == "all"


def test_it_is_charged_before_anything_is_read():
    the_curator, seen = curator(), []

    class Looks(SumOfAll):
        def __call__(self, rows):
            seen.extend(the_curator.ledger.releases)

    the_curator.raw_result(Looks(), "all")
    assert [release.name for release in seen] == ["all"]


def test_the_plan_says_how_often():
    the_curator = curator()
    the_curator.raw_result(SumOfAll(), "all")
    with pytest.raises(BudgetError, match="planned 1, done 1"):
        the_curator.raw_result(SumOfAll(), "all")
    with pytest.raises(BudgetError, match="'more' is not planned"):
        the_curator.raw_result(SumOfAll(), "more")


@pytest.mark.parametrize("real", [True, False])
def test_noise_in_the_plan_makes_no_raw_result_private(real):
    plan = Plan((Release("all", 1.0, 3.0),))
    the_curator = curator(plan) if real else Rehearsal(PUBLIC, plan)
    with pytest.raises(ValueError, match=r"a raw result has none: it cannot be private"):
        the_curator.raw_result(SumOfAll(), "all")
    assert the_curator.ledger.releases == ()


def test_no_finite_budget_pays_for_a_raw_result():
    plan = Plan((unprotected("all"), Release.share("more", l2=1.0, share=1.0)))
    with pytest.raises(ValueError, match=r"only epsilon=math\.inf is possible"):
        calibrate(plan, 1e6, 1e-5)
    assert math.isinf(calibrate(plan, math.inf, 1e-5).mu)


def test_an_engine_that_hands_out_no_rows_is_refused_before_anything_is_spent():
    class Sums:
        n_users = 2

        def total(self, contribution):
            raise AssertionError

    the_curator = curator(engine=Sums())
    with pytest.raises(TypeError, match="a Sums hands out no rows"):
        the_curator.raw_result(SumOfAll(), "all")
    assert the_curator.ledger.releases == ()


def test_a_curator_that_only_adds_up_hands_nothing_out():
    class OnlySums:
        def noisy_sum(self, contribution, release):
            raise AssertionError

    with pytest.raises(TypeError, match="a OnlySums answers noisy sums only, and release 'all'"):
        raw_result(OnlySums(), SumOfAll(), "all")
    assert raw_result(curator(), SumOfAll(), "all") == 10.0


def test_an_error_among_the_rows_loses_its_words_and_counts_as_spent():
    the_curator = curator()
    with pytest.raises(SumError, match=r"'all' failed .* \(IndexError\)") as failed:
        the_curator.raw_result(Talks(), "all")
    assert "5.0" not in "".join(traceback.format_exception(failed.value))
    assert the_curator.ledger.releases == (unprotected("all"),)


def test_raw_rows_show_nothing_private():
    seen = []

    class Keeps(SumOfAll):
        def __call__(self, rows):
            seen.append(repr(rows))
            return 0.0

    curator().raw_result(Keeps(), "all")
    assert seen == ["RawRows(n_users=2, n_items=3, <private rows>)"]


@dataclass(frozen=True)
class Mixed:
    """Asks for a raw result beside what it plans."""

    def plan(self, public):
        return Plan((unprotected("all"),))

    def fit(self, curator):
        curator.raw_result(SumOfAll(), "all")
        return FoldIn(np.zeros((curator.public.n_items, 0), np.float32), Centring())


def test_the_statement_follows_from_the_ledger():
    ratings = tacit.datasets.movielens_like(users=60, items=20, ratings=600)
    statement = train(ratings, Mixed(), Budget(math.inf, 1e-3), Execution()).statement
    assert str(statement).splitlines()[0] == "NOT PRIVATE: no noise on 'all'"
    assert not statement.private
    assert math.isinf(statement.epsilon)
    with pytest.raises(ValueError, match=r"only epsilon=math\.inf is possible"):
        train(ratings, Mixed(), Budget(5.0, 1e-3), Execution())
