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

    def __repr__(self) -> str:
        return f"Report({len(self.runs)} seeds; {LABEL})"


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """How often, and how: none of it changes what a training may spend.

    seeds: how many trainings. Each has fresh noise from the operating system, and its own seed for
        what a solver draws besides noise, if it has a field `seed`.
    k: length of the lists.
    threads, journal, progress: of each training, as in `training.Execution`.
    """

    seeds: int = 5
    k: int = 20
    threads: int | None = None
    journal: Path | None = None
    progress: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {self.seeds}")

    def execution(self) -> Execution:
        return Execution(threads=self.threads, journal=self.journal, progress=self.progress)


def evaluate(
    ratings: Ratings,
    trial: Trial,
    solver: Solver,
    *,
    epsilon: float,
    delta: float | None = None,
    protocol: Protocol | None = None,
) -> Report:
    """Train on `ratings` once for each seed and judge on `trial`.

    Models are not kept, but for the first. `protocol` is `Protocol()` if none is given.

    Raises:
        ValueError: a parameter is out of range; nothing was spent.
    """
    protocol = protocol or Protocol()
    budget = Budget(epsilon, default_delta(ratings.n_users) if delta is None else delta)
    runs: list[Figures] = []
    seconds: list[float] = []
    models: list[ItemModel] = []
    for seed in range(protocol.seeds):
        start = time.perf_counter()
        model = train(ratings, _seeded(solver, seed), budget, protocol.execution()).model
        seconds.append(time.perf_counter() - start)
        runs.append(judge(model.folding, trial, k=protocol.k))
        models = models or [model]
    return Report(tuple(runs), tuple(seconds), models[0])


def _seeded(solver: Solver, seed: int) -> Solver:
    """The solver with another seed, where it has one."""
    if is_dataclass(solver) and any(field.name == "seed" for field in fields(solver)):
        changed: Solver = replace(solver, seed=solver.seed + seed)
        return changed
    return solver


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
