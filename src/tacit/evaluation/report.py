# SPDX-License-Identifier: Apache-2.0
"""Train several times, judge every model, and say how much the figures vary."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.calibrate import default_delta
from tacit.evaluation.metrics import judge
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tacit.data.ratings import Ratings
    from tacit.evaluation.metrics import Figures
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn
    from tacit.model.item_model import ItemModel
    from tacit.solvers.base import Solver

LABEL = "computed on raw data; not covered by the statement"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Figures of one model for each seed.

    Guarantee: none. Every figure is computed on raw data; `model` and its statement are of the
    first seed, and the models of all seeds together cost more than one of them.
    """

    runs: tuple[Figures, ...]
    seconds: tuple[float, ...]
    model: ItemModel

    @property
    def mean(self) -> Figures:
        return {name: float(np.mean([run[name] for run in self.runs])) for name in self.runs[0]}

    @property
    def std(self) -> Figures:
        """Deviation over seeds, of the runs as a sample; NaN where there is one run only."""
        return {name: _deviation([run[name] for run in self.runs]) for name in self.runs[0]}

    @property
    def fold_in(self) -> FoldIn:
        """What a user of the first model needs to fold in."""
        return self.model.folding

    def __repr__(self) -> str:
        return f"Report({len(self.runs)} seeds; {LABEL})"


def evaluate(  # noqa: PLR0913  (keywords of one question)
    ratings: Ratings,
    trial: Trial,
    solver: Solver,
    *,
    epsilon: float,
    delta: float | None = None,
    seeds: int = 5,
    k: int = 20,
    threads: int | None = None,
    journal: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Train on `ratings` once for each seed and judge on `trial`.

    Every training has fresh noise from the operating system, and its own seed for what a solver
    draws besides noise (if it has a field `seed`). Models are not kept, but for the first.

    Raises:
        ValueError: a parameter is out of range; nothing was spent.
    """
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    budget = Budget(epsilon, default_delta(ratings.n_users) if delta is None else delta)
    runs, seconds, first = [], [], None
    for seed in range(seeds):
        start = time.perf_counter()
        execution = Execution(threads=threads, journal=journal, progress=progress)
        model = train(ratings, _seeded(solver, seed), budget, execution).model
        seconds.append(time.perf_counter() - start)
        runs.append(judge(model.folding, trial, k=k, threads=threads))
        first = first or model
    assert first is not None  # noqa: S101  (seeds >= 1, which the type checker cannot know)
    return Report(tuple(runs), tuple(seconds), first)


def _seeded(solver: Solver, seed: int) -> Solver:
    """The solver with another seed, where it has one."""
    if is_dataclass(solver) and any(field.name == "seed" for field in fields(solver)):
        changed: Solver = replace(solver, seed=solver.seed + seed)
        return changed
    return solver


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
