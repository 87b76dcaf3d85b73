# SPDX-License-Identifier: Apache-2.0
"""Spend, add up, add noise: in this order, from the plan only, with the noise of what is summed."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
import traceback
from dataclasses import replace

import numpy as np
import pytest

from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, ItemSums, Rows, SharedLeastSquares, UserFactors
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.folding import FoldIn
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.ledger import BudgetError
from tacit.mechanisms.rehearsal import Rehearsal

N_ITEMS = 400
USERS = UserBlock(
    indptr=np.array([0, 2, 5]),
    items=np.array([0, 1, 1, 2, 3], np.int32),
    values=np.array([1, 5, 2, 3, 4], np.float32),
    n_items=N_ITEMS,
)
PUBLIC = Public(n_users=2, n_items=N_ITEMS, low=1, high=5, mu=1.0)
COUNTS = ItemCounts(N_ITEMS, Rows())


def plan(std=10.0, l2=1.0, times=2):
    return Plan((Release("counts.count", l2, std, times=times, size=N_ITEMS, cone=True),))


def curator(the_plan, engine=None, **more):
    return DataCurator(
        engine or LocalThreads(USERS, threads=1), PUBLIC, the_plan, SeededSource(1), **more
    )


class NoEngine:
    """Stands for raw data that must not be touched."""

    n_users = 2

    def total(self, contribution):
        raise AssertionError("raw data was read")


class CrashingEngine(NoEngine):
    def total(self, contribution):
        raise KeyboardInterrupt


def test_without_noise_the_sum_is_the_sum():
    answer = curator(plan(std=0.0)).noisy_sum(COUNTS, "counts")["count"]
    expected = np.zeros(N_ITEMS)
    expected[[0, 1]] += 1 / math.sqrt(2)
    expected[[1, 2, 3]] += 1 / math.sqrt(3)
    np.testing.assert_allclose(answer, expected, atol=1e-4)


def test_the_noise_is_scaled_to_the_bound_of_what_is_really_summed():
    """The plan was made for a bound of 0.5; the contribution weighs up to 1, so noise doubles."""
    the_curator = curator(plan(std=10.0, l2=0.5, times=50))
    noise = [the_curator.noisy_sum(COUNTS, "counts")["count"] for _ in range(50)]
    spread = np.std(noise)
    assert spread == pytest.approx(20.0, rel=5 / math.sqrt(2 * 50 * N_ITEMS))
    (spent,) = the_curator.ledger.releases
    assert (spent.l2, spent.std, spent.times) == (1.0, 20.0, 50)
    assert math.sqrt(spent.mu_squared) == pytest.approx(the_curator.plan.mu)


def test_a_clip_that_is_chosen_later_keeps_the_price():
    """A solver may choose a bound from earlier releases: the noise follows, mu^2 stays."""
    the_plan = Plan((Release("offsets.sum", 1.0, 10.0, times=2, size=N_ITEMS),))
    the_curator = curator(the_plan)
    for clip in (1.0, 3.0):
        the_curator.noisy_sum(ItemSums(N_ITEMS, Rows(), clip), "offsets")
    assert [(r.l2, r.std) for r in the_curator.ledger.releases] == [(1.0, 10.0), (3.0, 30.0)]
    total = sum(release.mu_squared for release in the_curator.ledger.releases)
    assert total == pytest.approx(the_plan.mu**2)


def test_what_is_not_planned_is_refused_before_data_is_read():
    the_curator = curator(plan(times=1), NoEngine())
    with pytest.raises(BudgetError, match=r"'other\.count' is not planned"):
        the_curator.noisy_sum(COUNTS, "other")
    with pytest.raises(BudgetError, match=r"'counts\.sum' is not planned"):
        the_curator.noisy_sum(ItemSums(N_ITEMS, Rows(), 1.0), "counts")
    wider = ItemCounts(N_ITEMS + 1, Rows())
    with pytest.raises(BudgetError, match="differs from its plan in size"):
        the_curator.noisy_sum(wider, "counts")
    assert the_curator.ledger.releases == ()


def test_overflow_is_excluded_by_public_bounds_before_anything_is_spent():
    engine = NoEngine()
    engine.n_users = 2**48
    the_curator = curator(plan(), engine)
    with pytest.raises(ValueError, match="could overflow 64-bit integers"):
        the_curator.noisy_sum(COUNTS, "counts")
    assert the_curator.ledger.releases == ()


@pytest.mark.parametrize(("std", "size"), [(1e-9, "large"), (1e9, "small")])
def test_noise_that_cannot_be_drawn_exactly_is_refused_before_anything_is_spent(std, size):
    the_curator = curator(plan(std=std), NoEngine())
    with pytest.raises(ValueError, match=f"epsilon is too {size} for this release"):
        the_curator.noisy_sum(COUNTS, "counts")
    assert the_curator.ledger.releases == ()


@pytest.mark.parametrize("of_data", [True, False])
def test_parts_that_would_share_a_sample_are_refused(of_data):
    users = UserFactors(FoldIn(np.ones((N_ITEMS, 2), np.float32)), 1.0)
    both = SharedLeastSquares(Rows(), users)
    gram, rhs = (
        Release(f"both.{part.name}", part.l2, 10.0, size=part.size, cone=part.cone)
        for part in both.parts
    )
    for sampled in (
        Plan((gram, replace(rhs, sample_rate=0.5))),
        Plan((replace(gram, sample_rate=0.5), replace(rhs, sample_rate=0.5))),
    ):
        the_curator = curator(sampled, NoEngine()) if of_data else Rehearsal(PUBLIC, sampled)
        with pytest.raises(ValueError, match="only a sum of one part can be sampled"):
            the_curator.noisy_sum(both, "both")
        assert the_curator.ledger.releases == ()


def test_a_crash_between_spend_and_release_counts_as_spent():
    the_curator = curator(plan(times=1), CrashingEngine())
    with pytest.raises(KeyboardInterrupt):
        the_curator.noisy_sum(COUNTS, "counts")
    assert the_curator.ledger.releases == plan(times=1).releases
    with pytest.raises(BudgetError, match="planned 1, done 1"):
        the_curator.noisy_sum(COUNTS, "counts")


class TalkativeEngine(NoEngine):
    def total(self, contribution):
        raise IndexError(f"{USERS.values.tolist()} do not fit")


def test_an_error_from_among_the_users_loses_its_words_and_its_frames():
    the_curator = curator(plan(times=1), TalkativeEngine())
    with pytest.raises(SumError, match=r"'counts' failed .* \(IndexError\)") as failed:
        the_curator.noisy_sum(COUNTS, "counts")
    assert failed.value.__context__ is None
    assert "5.0" not in "".join(traceback.format_exception(failed.value))
    assert the_curator.ledger.releases == plan(times=1).releases


def test_even_a_killed_process_leaves_the_spend_in_the_journal(tmp_path):
    journal = tmp_path / "spent.jsonl"
    script = f"""
        import os
        from pathlib import Path
        from tacit.accounting.public import Public
        from tacit.accounting.release import Plan, Release
        from tacit.contributions import ItemCounts, Rows
        from tacit.mechanisms.curator import DataCurator
        from tacit.mechanisms.entropy import NoiseSource

        class Killed:
            n_users = 2
            def total(self, contribution):
                os._exit(9)

        release = Release("counts.count", 1.0, 10.0, size={N_ITEMS}, cone=True)
        public = Public(n_users=2, n_items={N_ITEMS}, low=1, high=5, mu=1.0)
        curator = DataCurator(
            Killed(), public, Plan((release,)), NoiseSource(), journal=Path({str(journal)!r})
        )
        curator.noisy_sum(ItemCounts({N_ITEMS}, Rows()), "counts")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=os.environ, check=False
    )
    assert done.returncode == 9
    (line,) = journal.read_text().splitlines()
    assert json.loads(line)["release"] == "counts.count"


def test_a_rehearsal_charges_the_same_and_answers_zeros():
    rehearsal, real = Rehearsal(PUBLIC, plan()), curator(plan())
    for each in (rehearsal, real):
        answer = each.noisy_sum(COUNTS, "counts")
    assert rehearsal.ledger.releases == real.ledger.releases
    zeros = rehearsal.noisy_sum(COUNTS, "counts")["count"]
    assert zeros.shape == answer["count"].shape
    assert not zeros.any()
    with pytest.raises(BudgetError):
        rehearsal.noisy_sum(COUNTS, "counts")


def test_progress_is_told_after_each_release_and_holds_its_name_only():
    told = []
    the_curator = curator(plan(), progress=told.append)
    the_curator.noisy_sum(COUNTS, "counts")
    assert told == ["counts"]
