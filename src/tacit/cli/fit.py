# SPDX-License-Identifier: Apache-2.0
"""`tacit fit`: train a private recommender and save it."""

from __future__ import annotations

import os
import time
from pathlib import Path  # noqa: TC003  (an option)
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.progress import training
from tacit.cli.settings import Algorithm, Cost, Running  # noqa: TC001  (options)
from tacit.cli.sources import ReadingToTrain  # noqa: TC001  (options)
from tacit.cli.verb import say, say_json, verb
from tacit.training import Execution, calibrated_plan, train

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.solvers import Solver
    from tacit.training import Budget, Fit


@verb
def fit(
    *,
    source: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV or Parquet file, folder, pattern, database URL, or a kept folder."
        ),
    ],
    cost: Cost,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")],
    algorithm: Algorithm,
    reading: ReadingToTrain,
    running: Running,
) -> None:
    """Train a private recommender and save it.

    Ctrl-C, or a kill at any moment, leaves the old model or the new one; after Ctrl-C it says what
    was spent.
    """
    solver = algorithm.solver(implicit=reading.implicit)
    check_output(output)
    with running.opened(source) as opened:
        ratings = reading.read(opened, **reading.place)
        trained, seconds = _saved(output, ratings, solver, cost.budget(ratings.n_users), running)
    statement = trained.statement
    if running.as_json:
        say_json(
            {
                "model": str(output),
                "algorithm": algorithm.algorithm,
                "private": statement.private,
                "epsilon": statement.epsilon,
                "delta": statement.delta,
                "mu": statement.mu,
                "users": ratings.n_users,
                "items": ratings.n_items,
                "seconds": seconds,
            }
        )
        return
    say(f"{statement}\n\nSaved to {output} after {seconds:.2f} s of training.")


def _saved(
    output: Path, ratings: Ratings, solver: Solver, budget: Budget, running: Running
) -> tuple[Fit, float]:
    """What was trained and saved, and the seconds of training.

    Where either breaks off it says what was spent: a model that cannot be saved costs the same.
    """
    _, plan = calibrated_plan(
        solver,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        scale=(ratings.scale.low, ratings.scale.high),
        budget=budget,
    )
    start = time.perf_counter()
    with training(plan, budget.delta, journal=running.journal) as (journal, progress):
        execution = Execution(threads=running.threads, journal=journal, progress=progress)
        trained = train(ratings, solver, budget, execution)
        seconds = time.perf_counter() - start
        trained.model.save(output)
    return trained, seconds


def check_output(folder: Path) -> None:
    """Refuse a place where a model cannot be saved, before anything is spent."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output {folder} is a file; a model is saved into a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "model.json").is_file():
        raise ValueError(
            f"--output {folder} holds something other than a model; choose another folder"
        )
    parent = folder
    while not parent.exists():
        parent = parent.parent
    if not os.access(parent, os.W_OK):
        raise ValueError(f"--output {folder}: no permission to write in {parent}")
