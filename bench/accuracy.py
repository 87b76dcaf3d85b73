# SPDX-License-Identifier: Apache-2.0
"""Test RMSE on real ratings at several budgets, with the default hyper-parameters.

    python bench/accuracy.py [--part validation]

Split by rating, 80/10/10, seed 0. The defaults were chosen on the validation parts of the same two
sets; nothing is tuned by budget or by set. Exits with 1 where `ALS()` misses what is required.
Ratings are looked for beside the repository and where TACIT_DATA points; none are downloaded. Takes
about five minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

import tacit
from machine import describe
from tacit.data.split import by_rating
from tacit.evaluation.report import Protocol, evaluate
from tacit.evaluation.trials import Trial, trial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.data.ratings import Ratings

ROOT = Path(__file__).resolve().parent.parent
SOLVERS = {"als": tacit.ALS(), "item-offsets": tacit.ItemOffsets()}


class Wanted(NamedTuple):
    """What `ALS()` must reach, and what it is meant to."""

    reach: float
    goal: float

    def verdict(self, rmse: float) -> str:
        return "goal" if rmse <= self.goal else "reached" if rmse <= self.reach else "MISSED"


class Data(NamedTuple):
    """A data set, its public scale, and the budgets of the table with what is wanted there."""

    folder: str
    scale: tuple[float, float]
    shift: float
    factor: float
    wanted: dict[float, Wanted]
    delta: float

    @property
    def epsilons(self) -> tuple[float, ...]:
        return tuple(self.wanted)


MOVIELENS = {
    1: Wanted(0.980, 0.960),
    5: Wanted(0.918, 0.905),
    20: Wanted(0.890, 0.880),
    100: Wanted(0.875, 0.865),
    math.inf: Wanted(0.853, 0.848),
}
JESTER = {
    0.1: Wanted(1.073, 1.060),
    0.5: Wanted(1.033, 1.025),
    1: Wanted(1.026, 1.018),
    5: Wanted(1.014, 1.010),
    math.inf: Wanted(1.010, 1.005),
}
SETS = (
    Data("ml-1m", (1, 5), 0, 1, MOVIELENS, 1e-5),
    Data("jester-1-part1", (0, 5), 10, 0.25, JESTER, 1e-6),
)


def folder_of(data: Data) -> Path | None:
    for place in (ROOT.parent / "shared" / "data", Path(os.environ.get("TACIT_DATA", "absent"))):
        if (place / data.folder / "ratings.parquet").is_file():
            return place / data.folder
    return None


def halves(data: Data, folder: Path, part: str) -> tuple[Ratings, Trial]:
    """What is trained on, and what it is tested with."""
    table = parquet.read_table(folder / "ratings.parquet")
    rating = pc.multiply(pc.add(table["rating"].cast(pa.float64()), data.shift), data.factor)
    table = table.set_column(table.column_names.index("rating"), "rating", rating)
    items = pc.unique(table["item"]).sort()
    train, validation, test = (
        tacit.read(rows, items=items.to_pylist(), scale=data.scale) for rows in by_rating(table)
    )
    return train, trial(train, test if part == "test" else validation)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["test", "validation"], default="test")
    part = parser.parse_args().part
    print(describe(2))
    print("repeats    5 seeds, fresh noise each; mean and deviation of the RMSE, seconds for one\n")
    heads = ("data", "epsilon", "delta", "solver", "RMSE", "+-", "s", "required", "goal")
    print("{:16s} {:>7s} {:>6s} {:13s} {:>7s} {:>7s} {:>5s} {:>9s} {:>6s}".format(*heads))
    verdicts = [verdict for data in SETS for verdict in measured(data, part)]
    missed = verdicts.count("MISSED")
    print(f"\nrequired   {len(verdicts) - missed} of {len(verdicts)} figures reached")
    return 1 if missed else 0


def measured(data: Data, part: str) -> Iterator[str]:
    """Print a line for each budget and solver; the verdicts on `ALS()`."""
    folder = folder_of(data)
    if folder is None:
        print(f"{data.folder}: absent; set TACIT_DATA to the folder that holds it")
        return
    train, held_out = halves(data, folder, part)
    for epsilon, wanted in data.wanted.items():
        for name, solver in SOLVERS.items():
            report = evaluate(
                train, held_out, solver, epsilon=epsilon, delta=data.delta,
                protocol=Protocol(seeds=5),
            )  # fmt: skip
            rmse = report.mean["rmse"]
            line = (
                f"{data.folder:16s} {epsilon:7g} {data.delta:6g} {name:13s} "
                f"{rmse:7.4f} {report.std['rmse']:7.4f} "
                f"{sum(report.seconds) / len(report.seconds):5.2f}"
            )
            if name == "als":
                verdict = wanted.verdict(rmse)
                line += f" {wanted.reach:9.3f} {wanted.goal:6.3f}  {verdict}"
                yield verdict
            print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
