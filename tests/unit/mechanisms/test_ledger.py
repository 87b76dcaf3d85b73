# SPDX-License-Identifier: Apache-2.0
"""Nothing outside the plan can be released, and a charge is never taken back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tacit.accounting.release import Plan, Release
from tacit.mechanisms.ledger import BudgetError, Ledger

COUNT = Release("items.count", l2=1.0, std=10.0, size=4, cone=True)
SUM = Release("items.sum", l2=2.0, std=30.0, times=3, size=4)
PLAN = Plan((COUNT, SUM))
ONCE = replace(SUM, times=1)


def test_the_plan_can_be_spent_to_the_last_release_and_no_further():
    ledger = Ledger(PLAN)
    ledger.charge([COUNT])
    for _ in range(3):
        ledger.charge([ONCE])
    assert set(ledger.releases) == set(PLAN.releases)
    with pytest.raises(BudgetError, match=r"'items.sum': planned 3, done 3, asked for one more"):
        ledger.charge([ONCE])


def test_a_name_that_is_not_planned_is_refused_and_the_planned_ones_are_named():
    with pytest.raises(
        BudgetError, match=r"'mean' is not planned \(planned: items.count, items.sum"
    ):
        Ledger(PLAN).charge([replace(COUNT, name="mean")])


@pytest.mark.parametrize("change", [{"std": 29.0}, {"l2": 2.1}, {"std": 0.0}])
def test_less_noise_relative_to_the_bound_than_planned_is_refused(change):
    with pytest.raises(BudgetError, match=r"planned mu\^2"):
        Ledger(PLAN).charge([replace(ONCE, **change)])


def test_more_noise_is_welcome_and_recorded_as_it_is():
    ledger = Ledger(PLAN)
    ledger.charge([replace(ONCE, std=60.0)])
    assert ledger.releases == (replace(ONCE, std=60.0),)


@pytest.mark.parametrize("change", [{"size": 5}, {"cone": True}, {"sample_rate": 0.5}])
def test_what_is_released_must_be_what_was_planned(change):
    wrong = replace(ONCE, **change)
    with pytest.raises(BudgetError, match="differs from its plan"):
        Ledger(PLAN).charge([wrong])


def test_a_refused_charge_charges_none_of_its_releases():
    ledger = Ledger(PLAN)
    with pytest.raises(BudgetError):
        ledger.charge([COUNT, replace(ONCE, std=1.0)])
    assert ledger.releases == ()
    ledger.charge([COUNT])


def test_one_charge_cannot_name_a_release_more_often_than_is_left():
    with pytest.raises(BudgetError, match="planned 1, done 1"):
        Ledger(PLAN).charge([COUNT, COUNT])


def test_the_journal_holds_every_charge_before_it_returns(tmp_path):
    journal = tmp_path / "spent.jsonl"
    ledger = Ledger(PLAN, journal)
    ledger.charge([COUNT])
    ledger.charge([ONCE])
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["release"] for line in lines] == ["items.count", "items.sum"]
    assert lines[1]["mu2"] == pytest.approx((2 / 30) ** 2)
    assert len({line["run"] for line in lines}) == 1


def test_where_the_journal_cannot_be_written_nothing_is_charged(tmp_path):
    ledger = Ledger(PLAN, tmp_path / "no such folder" / "spent.jsonl")
    with pytest.raises(OSError, match="No such file"):
        ledger.charge([COUNT])
    assert ledger.releases == ()
