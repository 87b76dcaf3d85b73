# SPDX-License-Identifier: Apache-2.0
"""What was planned and what is spent: nothing outside the plan can be released."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tacit.accounting.release import Plan, Release


class BudgetError(RuntimeError):
    """A release was asked for that the plan does not hold, or not so often."""


class Ledger:
    """Charges releases against a plan, before anything is computed; a charge is never taken back.

    journal: a file to which every charge is appended and synced to disk before `charge` returns, so
        that even a killed process leaves a record of what it may have released.
    """

    def __init__(self, plan: Plan, journal: Path | None = None) -> None:
        self.plan = plan
        self._spent: Counter[Release] = Counter()
        self._done: Counter[str] = Counter()
        self._journal = journal
        self._run = uuid.uuid4().hex
        self._lock = threading.Lock()

    def charge(self, releases: Sequence[Release]) -> None:
        """Spend every one of `releases` once, or refuse all of them."""
        with self._lock:
            asked: Counter[str] = Counter()
            for release in releases:
                self._check(release, self._done[release.name] + asked[release.name])
                asked[release.name] += 1
            if self._journal is not None:
                self._write(self._journal, releases)
            for release in releases:
                self._spent[replace(release, times=1)] += 1
                self._done[release.name] += 1

    def _check(self, release: Release, done: int) -> None:
        if release.name not in self.plan:
            planned = ", ".join(r.name for r in self.plan.releases)
            raise BudgetError(
                f"release {release.name!r} is not planned (planned: {planned}); "
                "add it to the solver's plan, so that it is calibrated and stated"
            )
        planned_release = self.plan[release.name]
        if done >= planned_release.times:
            raise BudgetError(
                f"release {release.name!r}: planned {planned_release.times}, done {done}, "
                f"asked for one more; raise `times` in the solver's plan"
            )
        # One rounding of std = l2 * z is allowed for, no more.
        if release.mu_squared_once > planned_release.mu_squared_once * (1 + 1e-12):
            raise BudgetError(
                f"release {release.name!r}: planned mu^2 {planned_release.mu_squared_once:.6g} "
                f"each time, asked for {release.mu_squared_once:.6g}; "
                "the noise must not be smaller, relative to the bound, than planned"
            )
        same = ("cone", "partner", "sample_rate", "posterior")
        if release.size > planned_release.size or any(
            getattr(release, field) != getattr(planned_release, field) for field in same
        ):
            raise BudgetError(
                f"release {release.name!r} differs from its plan in size, cone, partner, "
                "sample_rate or kind; the plan must describe what is released"
            )

    def _write(self, journal: Path, releases: Sequence[Release]) -> None:
        with journal.open("a", encoding="utf-8") as file:
            for release in releases:
                line = {"run": self._run, "release": release.name}
                numbers = {"l2": release.l2, "std": release.std, "mu2": release.mu_squared_once}
                file.write(json.dumps(line | numbers) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def releases(self) -> tuple[Release, ...]:
        """What is spent, equal releases counted together, in the order of their first charge."""
        return tuple(replace(release, times=times) for release, times in self._spent.items())
