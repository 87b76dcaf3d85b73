# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of DPFW (Jain, Thakkar, Thakurta, 2018): private Frank-Wolfe against its baselines.

    python bench/papers/frank_wolfe.py [--data rank-one] [--runs 10] [--users 500000]

Its protocol: 1% of the ratings are the test, delta 1e-6; epsilon is zero-out and exact here. Jester
has ratings brought to 0..5 (here its first of three parts: 24,983 of 73,000 users); "rank-one" is
the synthetic matrix, 500,000 x 400 with at most 80 ratings a user, once. ml-10m, netflix and
yahoo-music are their 400 most rated items (by exact counts, NOT PRIVATE, as in the paper), at most
80 ratings a user. Settings were tuned on a split of Jester that is not among the runs. The
synthetic ratings have no offsets, so none are released there, and rows get a bound that fits them.
  FW             private Frank-Wolfe, dense; residuals cut to L, so that they weigh a quarter
  FW paper       the same with residuals of up to 2 L, as in the paper
  FW Oja         as FW, with directions by Oja's method
  SVD            private SVD: her row projected on the top subspace
  PGD            private projected gradient descent
  MM             McSherry and Mironov for users: factors of the cleansed covariance
  ALS            tacit's own
  offsets        item offsets and a user's mean;  user mean  costs nothing and needs nobody else
Required: dense and Oja agree within 1%. Also written: docs/figures/frank_wolfe_DATA.svg. Real
ratings are looked for beside the repository and where TACIT_DATA points; none are downloaded.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import protocols

import tacit
from accuracy import SETS, folder_of
from machine import describe
from tacit.datasets.papers import rank_one
from tacit.evaluation.split import leave_part_out
from tacit.evaluation.trials import Trial, trial
from tacit.folding import Centring, FoldIn

mpl.use("svg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.solvers.base import Solver

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 5.0)
AGREE = 0.01
PUBLIC = ("ml-10m", "netflix", "yahoo-music")
FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
Curves = dict[str, list[float]]


def on_stars() -> dict[str, Solver]:
    """For ratings of 0 to 5."""
    fw = tacit.FrankWolfe(direction="dense", steps=6, nuclear_norm=1.5)
    return {
        "FW": fw,
        "FW Oja": replace(fw, direction="oja"),
        "FW paper": replace(fw, residual_bound=2.0),
        "SVD": tacit.SVD(method="local-projection", rank=4, row_bound=1.5),
        "PGD": tacit.ProjectedGradient(),
        "MM": tacit.SVD(),
        "ALS": tacit.ALS(),
        "offsets": tacit.ItemOffsets(),
    }


def on_rank_one() -> dict[str, Solver]:
    """No offsets; a row of 80 ratings is at most about 5 long, 2.5 times the width of the scale.

    The whole matrix has a nuclear norm of 3.3 L sqrt(users).
    """
    fw = tacit.FrankWolfe(
        direction="dense", steps=10, row_bound=1.0, offset_share=0.0, nuclear_norm=4.0
    )
    return {
        "FW": fw,
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


def public(name: str, runs: int) -> list[tuple[Ratings, Trial]]:
    """The protocol on a set that is published; nothing where there is no copy of it."""
    folder = protocols.find(name)
    if folder is None:
        return []
    whole = tacit.datasets.load(name, folder)
    whole = protocols.only(whole, protocols.most_rated(whole))
    if name == "yahoo-music":
        whole = protocols.rescaled(whole, 0.0, 5.0)
    found = []
    for seed in range(runs):
        train, test = leave_part_out(whole, 0.01, seed=seed)
        train = protocols.at_most(train, 80, seed)
        found.append((train, trial(train, test)))
    return found


def splits(name: str, runs: int, users: int) -> list[tuple[Ratings, Trial]]:
    if name == "rank-one":
        made = rank_one(users)
        return [(made.train, trial(made.train, made.test))]
    if name == "jester":
        return [split for seed in range(runs) if (split := jester(seed)) is not None]
    return public(name, runs)


# What every process has from its parent: rows are not sent to it.
RUNS: list[tuple[Ratings, Trial]] = []


def error(task: tuple[int, Solver, float]) -> float:
    """Test error of one training."""
    run, solver, epsilon = task
    train, asked = RUNS[run]
    fit = tacit.fit(train, solver, epsilon=epsilon, delta=DELTA, threads=1)
    return protocols.rmse(fit.model.folding, asked)


def curves(solvers: dict[str, Solver], jobs: int) -> Curves:
    """Mean RMSE over the runs at every epsilon and without privacy, printed row by row."""
    budgets = (*EPSILONS, math.inf)
    print(f"{'epsilon':10s}" + "".join(f"{epsilon:9g}" for epsilon in budgets))
    found: Curves = {}
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        for name, solver in solvers.items():
            tasks = [(run, solver, epsilon) for epsilon in budgets for run in range(len(RUNS))]
            errors = np.array(list(pool.map(error, tasks))).reshape(len(budgets), -1)
            found[name] = errors.mean(axis=1).tolist()
            print(f"{name:10s}" + "".join(f"{each:9.4f}" for each in found[name]), flush=True)
    found["user mean"] = [_user_mean()] * len(budgets)
    print(f"{'user mean':10s}{found['user mean'][0]:9.4f}\n", flush=True)
    return found


def _user_mean() -> float:
    """What a user's own mean predicts, shrunk to the middle of the scale by one rating."""
    errors = []
    for _, asked in RUNS:
        nothing = np.zeros((asked.target.n_items, 0), np.float32)
        middle = Centring(sum(asked.scale) / 2, mean_ridge=1.0)
        errors.append(protocols.rmse(FoldIn(nothing, middle), asked))
    return float(np.mean(errors))


def agree(found: Curves) -> bool:
    """Whether Oja's method costs less than 1% of the error anywhere."""
    apart = [oja / dense - 1 for dense, oja in zip(found["FW"], found["FW Oja"], strict=True)]
    print(f"{'Oja/dense':10s}" + "".join(f"{100 * each:+8.1f}%" for each in apart))
    kept = [abs(each) <= AGREE for each in apart]
    told = "".join(f"{'reached' if each else 'missed':>9s}" for each in kept)
    print(f"{'within 1%':10s}{told}")
    return all(kept)


def draw(name: str, title: str, found: Curves) -> None:
    """Error against epsilon; the same numbers give the same file."""
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8})
    figure, axis = plt.subplots(figsize=(4.5, 3.2))
    for line, errors in found.items():
        style = "--" if line in {"offsets", "user mean"} else "-"
        axis.plot(EPSILONS, errors[: len(EPSILONS)], style, label=line, linewidth=1)
    axis.plot(
        EPSILONS, [found["FW"][-1]] * len(EPSILONS), ":", label="FW, not private", linewidth=1
    )
    axis.set(title=title, xscale="log", xlabel="epsilon", ylabel="test RMSE")
    axis.legend(fontsize=6)
    figure.tight_layout()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"frank_wolfe_{name.replace('-', '_')}.svg", metadata={"Date": None})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["jester", "rank-one", *PUBLIC], default="jester")
    parser.add_argument("--runs", type=int, default=10, help="splits of real ratings")
    parser.add_argument("--users", type=int, default=500_000, help="of the synthetic matrix")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    options = parser.parse_args(arguments)
    print(describe(options.jobs))
    RUNS[:] = splits(options.data, options.runs, options.users)
    if not RUNS:
        print(f"\n{options.data}: absent; set TACIT_DATA to the folder that holds it")
        return 0
    train, asked = RUNS[0]
    title = f"{options.data}, {train.n_users} x {train.n_items}"
    print(f"data       {title}, scale {asked.scale[0]:g} to {asked.scale[1]:g}")
    print(f"repeats    {len(RUNS)} splits, fresh noise each; test RMSE, delta {DELTA:g}\n")
    found = curves(on_rank_one() if options.data == "rank-one" else on_stars(), options.jobs)
    draw(options.data, title, found)
    return 0 if agree(found) else 1


if __name__ == "__main__":
    sys.exit(main())
