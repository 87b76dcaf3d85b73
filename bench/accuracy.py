# SPDX-License-Identifier: Apache-2.0
"""Test RMSE on real ratings at several budgets, with the default hyper-parameters.

    python bench/accuracy.py [--part validation]

Split by rating, 80/10/10, seed 0. The defaults were chosen on the validation parts of the same two
sets; nothing is tuned by budget or by set. Ratings are looked for beside the repository and where
TACIT_DATA points; none are downloaded.
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
    from tacit.data.ratings import Ratings

ROOT = Path(__file__).resolve().parent.parent
SOLVERS = {"als": tacit.ALS(), "item-offsets": tacit.ItemOffsets()}


class Data(NamedTuple):
    """A data set, its public scale, and the budgets of the table."""

    folder: str
    scale: tuple[float, float]
    shift: float
    factor: float
    epsilons: tuple[float, ...]
    delta: float


SETS = (
    Data("ml-1m", (1, 5), 0, 1, (1, 5, 20, 100, math.inf), 1e-5),
    Data("jester-1-part1", (0, 5), 10, 0.25, (0.1, 0.5, 1, 5, math.inf), 1e-6),
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
    print(f"{'data':16s} {'epsilon':>7s} {'delta':>6s} {'solver':13s} {'RMSE':>7s} {'+-':>7s}   s")
    for data in SETS:
        folder = folder_of(data)
        if folder is None:
            print(f"{data.folder}: absent; set TACIT_DATA to the folder that holds it")
            continue
        train, held_out = halves(data, folder, part)
        for epsilon in data.epsilons:
            for name, solver in SOLVERS.items():
                report = evaluate(
                    train, held_out, solver, epsilon=epsilon, delta=data.delta,
                    protocol=Protocol(seeds=5),
                )  # fmt: skip
                print(
                    f"{data.folder:16s} {epsilon:7g} {data.delta:6g} {name:13s} "
                    f"{report.mean['rmse']:7.4f} {report.std['rmse']:7.4f} "
                    f"{sum(report.seconds) / len(report.seconds):5.2f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
