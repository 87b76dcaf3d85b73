# SPDX-License-Identifier: Apache-2.0
"""Recall@20 for users who were not trained on, at several budgets, with no setting given.

    python bench/recall.py [--part validation]

Implicit feedback: every rating is a 1. Of each held-out user 80% of the items are history and the
rest is asked for (paper 003, D.1). How `ALS(feedback="implicit")` chooses its settings was decided
on the validation part, other users of the same set, held out of the training users. Takes a few
minutes. Ratings are looked for beside the repository and where TACIT_DATA points.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc
from pyarrow import parquet

import tacit
from accuracy import folder_of
from machine import describe
from tacit.data.split import held_out_users
from tacit.evaluation.report import Protocol, evaluate
from tacit.evaluation.trials import trial
from tacit.solvers import Popularity

if TYPE_CHECKING:
    from pathlib import Path

    from tacit.data.ratings import Ratings
    from tacit.evaluation.trials import Trial

SOLVERS = {"als": tacit.ALS(feedback="implicit"), "popularity": Popularity()}
K = 20


class Data(NamedTuple):
    """A data set, its held-out users, and by budget what to reach and the goal."""

    folder: str
    users: int
    delta: float
    wanted: dict[float, tuple[float, float]]


NOTHING = (math.nan, math.nan)
SETS = (
    Data(
        "ml-1m",
        1000,
        1e-5,
        {5: (0.308, 0.325), 20: (0.370, 0.385), 100: (0.382, 0.395), math.inf: (0.410, 0.418)},
    ),
    Data("ml-100k", 150, 1e-4, {5: NOTHING, 20: NOTHING, 100: NOTHING, math.inf: NOTHING}),
)


def halves(data: Data, folder: Path, part: str) -> tuple[Ratings, Trial]:
    """What is trained on, and what it is tested with."""
    table = parquet.read_table(folder / "ratings.parquet")
    items = pc.unique(table["item"]).sort().to_pylist()
    split = held_out_users(tacit.read(table, items=items, feedback="implicit"), data.users)
    if part == "validation":
        split = held_out_users(split.train, data.users, seed=7)
    return split.train, trial(split.train, split.target, history=split.history)


def measured(data: Data, folder: Path, part: str) -> bool:
    """Print the rows of one set; whether all that is required was reached."""
    train, held_out = halves(data, folder, part)
    reached = True
    for epsilon, (required, goal) in data.wanted.items():
        for name, solver in SOLVERS.items():
            report = evaluate(
                train, held_out, solver, epsilon=epsilon, delta=data.delta,
                protocol=Protocol(seeds=5, k=K),
            )  # fmt: skip
            recall, ndcg = (report.mean[f"{figure}@{K}"] for figure in ("recall", "ndcg"))
            line = (
                f"{data.folder:9s} {epsilon:7g} {data.delta:6g} {name:11s} {recall:9.4f} "
                f"{report.std[f'recall@{K}']:7.4f} {ndcg:8.4f} {report.std[f'ndcg@{K}']:7.4f}"
            )
            if name == "als" and not math.isnan(required):
                line += f"   {required:8.3f} {goal:6.3f}"
                reached &= recall >= required
            print(line, flush=True)
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["test", "validation"], default="test")
    part = parser.parse_args().part
    print(describe(2))
    print(f"part       {part}; 1,000 held-out users of ml-1m, 150 of ml-100k")
    print("repeats    5 seeds, fresh noise each; mean and deviation\n")
    print(
        f"{'data':9s} {'epsilon':>7s} {'delta':>6s} {'solver':11s} {'recall@20':>9s} {'+-':>7s} "
        f"{'ndcg@20':>8s} {'+-':>7s}   {'required':>8s} {'goal':>6s}"
    )
    reached = True
    for data in SETS:
        folder = folder_of(data)
        if folder is None:
            print(f"{data.folder}: absent; set TACIT_DATA to the folder that holds it")
            continue
        reached &= measured(data, folder, part)
    print(f"\n{'all' if reached else 'NOT all'} required figures reached")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
