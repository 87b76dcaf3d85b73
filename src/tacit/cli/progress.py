# SPDX-License-Identifier: Apache-2.0
"""What is shown while one waits, on stderr and on a terminal only; what an interruption cost."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tacit.accounting import composition
from tacit.cli import interrupts
from tacit.cli.verb import told
from tacit.mechanisms.gaussian import RELATIVE_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Task

    from tacit.accounting.release import Plan


_NOTHING = "nothing was spent, and nothing was written"


class BrokenOffError(RuntimeError):
    """A training that failed after something was spent; says how much."""


class _Rate(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.3g} steps/s" if task.speed else "")


@contextmanager
def busy(text: str) -> Iterator[None]:
    """A spinner while something without steps goes on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
    else:
        with console.status(text):
            yield
    interrupts.stop_if_asked()


@contextmanager
def training(
    plan: Plan, delta: float, *, journal: Path | None = None, runs: int = 1
) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A journal and a progress callback for `runs` trainings by this plan.

    Ctrl-C inside becomes a KeyboardInterrupt that says what was spent until then, as the journal
    has it: every spend is written there before anything is computed.
    """
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        path = journal or Path(folder) / "journal"
        start = path.stat().st_size if path.exists() else 0
        try:
            with _bar(runs * steps(plan)) as advance:
                yield path, advance
        except (KeyboardInterrupt, Exception) as error:
            spent = _spent(path, start, plan, delta, runs)
            if isinstance(error, KeyboardInterrupt) or interrupts.asked():
                raise KeyboardInterrupt(spent) from None
            if spent == _NOTHING:
                raise
            raise BrokenOffError(f"{told(error)}; {spent}") from None
    planned = runs * sum(release.times for release in plan.releases)
    interrupts.from_now_on(f"all {planned} planned releases are spent")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("Training", total=total)

        def advance(release: str) -> None:
            bar.update(task, advance=1, description=f"Training: {release}")
            interrupts.stop_if_asked()

        yield advance


def steps(plan: Plan) -> int:
    """How often the users are asked: parts of one sum, as a Gram and its side, go together."""
    sums: Counter[str] = Counter()
    for release in plan.releases:
        name = release.name.rpartition(".")[0]
        sums[name] = max(sums[name], release.times)
    return sums.total()


def _spent(journal: Path, start: int, plan: Plan, delta: float, runs: int) -> str:
    """What the journal's new lines add up to, over all runs."""
    if not journal.exists():
        return _NOTHING
    lines = journal.read_bytes()[start:].decode().splitlines()
    done = Counter(json.loads(line)["release"] for line in lines)
    if not done:
        return _NOTHING
    spent = [replace(plan[name], times=times) for name, times in done.items()]
    planned = runs * sum(release.times for release in plan.releases)
    if any(release.std == 0 for release in spent):
        return (
            f"{done.total()} of {planned} releases were made, without noise; "
            "nothing half-written is left"
        )
    epsilon = composition.epsilon(spent, delta, relative_error=RELATIVE_ERROR)
    mu = composition.mu_zero_out(spent)
    return (
        f"{done.total()} of {planned} planned releases are spent: epsilon "
        f"{math.ceil(epsilon * 1e4) / 1e4:.4f} at delta {delta:g} (mu {mu:.4f}); "
        "nothing half-written is left"
    )
