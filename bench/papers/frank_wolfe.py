# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of DPFW (Jain, Thakkar, Thakurta, 2018): private Frank-Wolfe against its baselines.

    python bench/papers/frank_wolfe.py [--runs 2] [--users 20000]

Jester, ratings to 0..5, and the synthetic rank-one matrix; 1% of the ratings are the test, delta
1e-6, zero-out epsilon, exact. The paper has 10 runs, 73,000 users of Jester (here is its first of
three parts, 24,983), and 500,000 x 400 for the synthetic matrix (--users 500000). Settings are the
defaults on Jester. The synthetic ratings have no offsets, so none are released there, and rows get
a bound that fits them.
  FW             private Frank-Wolfe, dense; residuals cut to L, so that they weigh a quarter
  FW paper       the same with residuals of up to 2 L, as in the paper
  FW Oja         as FW, with directions by Oja's method, 5 products each
  FW lsq         the directions of FW; users fit them to their ratings instead of replaying
  SVD            private SVD: her row projected on the top subspace
  PGD            private projected gradient descent
  MM, MM knn     McSherry and Mironov for users: factors, or neighbours, of the cleansed covariance
  ALS            tacit's own
  offsets        item offsets and a user's mean;  user mean  costs nothing and needs nobody else
Also written: docs/figures/frank_wolfe.svg. Real ratings are looked for beside the repository and
where TACIT_DATA points; none are downloaded.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tacit
from accuracy import SETS, folder_of
from machine import describe
from tacit.datasets.papers import rank_one
from tacit.evaluation.ranking import predictions
from tacit.evaluation.trials import Trial, trial
from tacit.folding import Centring, FoldIn

mpl.use("svg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.solvers.base import Solver

DELTA = 1e-6
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
FIGURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "frank_wolfe.svg"
Curves = dict[str, list[tuple[float, float]]]


def on_jester() -> dict[str, Solver]:
    """The defaults."""
    fw = tacit.FrankWolfe(direction="dense")
    return {
        "FW": fw,
        "FW paper": replace(fw, residual_bound=2.0),
        "FW Oja": replace(fw, direction="oja"),
        "FW lsq": replace(fw, users="least-squares"),
        "SVD": tacit.SVD(method="local-projection", rank=4, row_bound=1.5),
        "PGD": tacit.ProjectedGradient(),
        "MM": tacit.SVD(),
        "MM knn": tacit.SVD(method="knn"),
        "ALS": tacit.ALS(),
        "offsets": tacit.ItemOffsets(),
    }


def on_rank_one() -> dict[str, Solver]:
    """No offsets; a row of 80 ratings is at most about 5 long, 2.5 times the width of the scale."""
    fw = tacit.FrankWolfe(
        direction="dense", steps=4, row_bound=2.0, offset_share=0.0, nuclear_norm=4.0
    )
    return {
        "FW": fw,
        "FW paper": replace(fw, residual_bound=2.0),
        "FW Oja": replace(fw, direction="oja"),
        "SVD": tacit.SVD(
            method="local-projection", rank=1, row_bound=2.0, offset_share=0.0, ridge=1.0
        ),
        "PGD": tacit.ProjectedGradient(
            steps=3, rank=1, row_bound=4.0, rate=3.0, offset_share=0.0, nuclear_norm=1.0
        ),
        "MM": tacit.SVD(rank=1, offset_share=0.0),
        "ALS": tacit.ALS(),
        "offsets": tacit.ItemOffsets(),
    }


def jester(seed: int) -> tuple[Ratings, Trial] | None:
    """All but 1% of the ratings, and a trial on that 1%."""
    data = next(data for data in SETS if data.folder.startswith("jester"))
    folder = folder_of(data)
    if folder is None:
        return None
    table = parquet.read_table(folder / "ratings.parquet")
    rating = pc.multiply(pc.add(table["rating"].cast(pa.float64()), data.shift), data.factor)
    table = table.set_column(table.column_names.index("rating"), "rating", rating)
    items = pc.unique(table["item"]).sort().to_pylist()
    tested = np.random.default_rng(seed).random(len(table)) < 0.01
    train, test = (
        tacit.read(table.filter(pa.array(part)), items=items, scale=data.scale)
        for part in (~tested, tested)
    )
    return train, trial(train, test)


def rmse(fold: FoldIn, asked: Trial) -> float:
    """Predictions are cut to the scale."""
    found = np.clip(predictions(fold, asked.history, asked.target), *asked.scale)
    return float(np.sqrt(np.mean((found - asked.target.values) ** 2)))


def curves(runs: list[tuple[Ratings, Trial]], solvers: dict[str, Solver]) -> Curves:
    """Mean RMSE over the runs, printed row by row."""
    print(f"{'':10s}" + "".join(f"{epsilon:9g}" for epsilon in (*EPSILONS, math.inf)))
    found: Curves = {}
    for name, solver in solvers.items():
        row = []
        for epsilon in (*EPSILONS, math.inf):
            errors = [
                rmse(tacit.fit(train, solver, epsilon=epsilon, delta=DELTA).model.folding, asked)
                for train, asked in runs
            ]
            row.append(float(np.mean(errors)))
        print(f"{name:10s}" + "".join(f"{error:9.4f}" for error in row), flush=True)
        found[name] = list(zip(EPSILONS, row, strict=False))
    found["user mean"] = [(epsilon, _user_mean(runs)) for epsilon in EPSILONS]
    print(f"{'user mean':10s}{found['user mean'][0][1]:9.4f}\n", flush=True)
    return found


def _user_mean(runs: list[tuple[Ratings, Trial]]) -> float:
    """What a user's own mean predicts, shrunk to the middle of the scale by one rating."""
    errors = []
    for _, asked in runs:
        nothing = np.zeros((asked.target.n_items, 0), np.float32)
        middle = Centring(sum(asked.scale) / 2, mean_ridge=1.0)
        errors.append(rmse(FoldIn(nothing, middle), asked))
    return float(np.mean(errors))


def draw(panels: dict[str, Curves]) -> None:
    """One chart for each data set; the same numbers give the same file."""
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8})
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3), squeeze=False)
    for axis, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for name, points in lines.items():
            style = "--" if name in {"offsets", "user mean"} else "-"
            axis.plot(*zip(*points, strict=True), style, label=name, linewidth=1)
        axis.set(title=title, xscale="log", xlabel="epsilon", ylabel="test RMSE")
        axis.legend(fontsize=6)
    figure.tight_layout()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2, help="splits of Jester (the paper: 10)")
    parser.add_argument("--users", type=int, default=20_000, help="of the synthetic matrix")
    options = parser.parse_args()
    print(describe(2))
    print(f"repeats    {options.runs} splits of Jester, 1 synthetic matrix; fresh noise each\n")
    panels: dict[str, Curves] = {}
    splits = [split for seed in range(options.runs) if (split := jester(seed)) is not None]
    if splits:
        print("Jester, test RMSE (scale 0 to 5) at epsilon")
        panels["Jester"] = curves(splits, on_jester())
    else:
        print("Jester: absent; set TACIT_DATA to the folder that holds jester-1-part1\n")
    made = rank_one(options.users)
    print(f"rank one, {options.users} x 400, test RMSE (scale -1 to 1) at epsilon")
    panels["rank one"] = curves([(made.train, trial(made.train, made.test))], on_rank_one())
    draw(panels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
