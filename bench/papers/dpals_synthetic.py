# SPDX-License-Identifier: Apache-2.0
"""Figures 4 and 7 of DPALS (Chien et al., 2021): private ALS against private Frank-Wolfe.

    python bench/papers/dpals_synthetic.py [--quick] [--search SOLVER USERS TRIALS]

The paper's synthetic data: an exact matrix of 1000 items and rank 5 without offsets or noise, its
entries of deviation 1, each known with probability 20 log(users) / 1000; 80% of what is known for
training. Test RMSE, delta 1e-5, zero-out epsilon, exact; inf is without privacy.
  ALS        tacit's, one Gram matrix for all items: ALS(gram="shared", offset_share=0)
  DPALS      the paper's Algorithm 1: ALS(gram=PerItem(ridge=..., centring="none"))
  FW         private Frank-Wolfe, dense, tuned: rows cut to L = 16, and residuals too
  DPFW       the same as published: L so large (35) that no row is cut, residuals of up to 2 L, and
             the noise of its formula, L^2 sqrt(64 T log(1/delta)) / epsilon for that epsilon
  mean       nothing released: the mean is 0, and the RMSE 1, by design
Users, rank and the deviation are public here. The settings (dpals_solvers.py) are from a search on
the validation part (--search with 20,000 users, one training a trial; some by hand); what it
learned is in no epsilon, as in the paper. Figure 7 (20,000 users) fixes the noise and lets epsilon
grow with the steps: sigma times the bound of one of a user's k = 150 ratings in every release, of
which ALS has two in a step. T of Frank-Wolfe is its `steps`, so it has T - 1 directions.
Also written: docs/figures/dpals_synthetic.svg. Exits with 1 if a required relation fails.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from charts import Chart, Curves, draw
from dpals_solvers import EPSILONS, FOUND, RANGES, solver
from searching import Settings, best_of
from verdict import Relation, verdict

from machine import describe
from tacit.accounting import gdp
from tacit.datasets.papers import dpals_synthetic
from tacit.evaluation.ranking import predictions
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.datasets.experiment import Experiment

DELTA = 1e-5
USERS = (5_000, 10_000, 20_000, 50_000)
SIGMAS = (10.0, 20.0, 0.0)  # figure 7; 0 is without privacy
RATINGS = 150  # k of figure 7
ALS_STEPS = (1, 2, 3, 4, 5)
FW_STEPS = (2, 5, 10, 40)
WORKERS = 6
Table = dict[tuple[str, int], dict[float, float]]


def rmse(made: Experiment, name: str, some: Settings, epsilon: float, on: str = "test") -> float:
    """Of one training with fresh noise; predictions are cut to the scale."""
    low, high = made.train.scale.low, made.train.scale.high
    if name == "DPFW" and math.isfinite(epsilon):
        # What the formula is worth, with residuals of 2 L: (2 L)^2 sqrt(T) / sigma.
        epsilon = gdp.epsilon(DELTA, 4 * epsilon / math.sqrt(-64 * math.log(DELTA)))
    fitted = train(
        made.train, solver(name, some, high - low), Budget(epsilon, DELTA), Execution(threads=1)
    )
    target = getattr(made, on).block
    guess = predictions(fitted.model.folding, made.train.block, target)
    return float(np.sqrt(np.mean((np.clip(guess, low, high) - target.values) ** 2)))


def search(name: str, users: int, trials: int) -> None:
    """Settings for each epsilon, as `FOUND` has them."""
    made = dpals_synthetic(users)
    for epsilon in EPSILONS:

        def score(some: Settings, epsilon: float = epsilon) -> float:
            return rmse(made, name, some, epsilon, "validation")

        best, least = best_of(RANGES[name], FOUND[name][epsilon], trials, score)
        print(f"{name} {epsilon:g}: {best},  # validation {least:.4f}", flush=True)


@functools.lru_cache(maxsize=1)
def generated(users: int) -> Experiment:
    return dpals_synthetic(users)


def of_task(task: tuple[int, str, float]) -> float:
    """The test error of one training in figure 4."""
    n, name, epsilon = task
    return rmse(generated(n), name, FOUND[name][epsilon], epsilon)


def figure_4(errors: Iterator[float], tasks: list[tuple[int, str, float]]) -> Table:
    found: Table = {}
    for (n, name, epsilon), error in zip(tasks, errors, strict=True):
        found.setdefault((name, n), {})[epsilon] = error
    print(f"Figure 4: test RMSE\n{'users':>6s}  {'':6s}" + "".join(f"{e:9g}" for e in FOUND["ALS"]))
    for (name, n), row in reversed(found.items()):
        print(f"{n:6d}  {name:6s}" + "".join(f"{error:9.4f}" for error in row.values()))
    print()
    return found


def of_steps(task: tuple[int, float, str, int]) -> tuple[float, float]:
    """The test error after T steps with this noise, and the epsilon that follows."""
    users, sigma, name, T = task
    some = FOUND[name][5.0 if sigma else math.inf] | {"steps": T}
    releases = 2 * T if name == "DPALS" else T - 1
    if name == "DPALS":
        some |= {"items_per_user": RATINGS, "gram_part": 0.5}
    mu = math.sqrt(RATINGS * releases) / sigma if sigma else math.inf
    epsilon = gdp.epsilon(DELTA, mu) if sigma else math.inf
    return rmse(generated(users), name, some, epsilon), epsilon


def figure_7(
    errors: Iterator[tuple[float, float]], tasks: list[tuple[int, float, str, int]]
) -> dict[float, Curves]:
    """By sigma, the errors of both methods at each number of steps."""
    found: dict[float, Curves] = {}
    print(f"Figure 7: test RMSE with {tasks[0][0]} users at the same noise, for T steps", end="")
    for (_, sigma, name, T), (error, epsilon) in zip(tasks, errors, strict=True):
        curve = found.setdefault(sigma, {}).setdefault(name, [])
        print("" if curve else f"\nsigma {sigma:2g}  {name:6s}", end="")
        curve.append((float(T), error))
        print(f"  {T}: {error:.4f} (epsilon {epsilon:.3g})", end="")
    print("\n")
    return found


def relations(table: Table) -> list[Relation]:
    users = sorted({n for _, n in table})
    most = users[-1]
    frank_wolfe = {e: min(table["FW", most][e], table["DPFW", most][e]) for e in EPSILONS}
    ratios = {
        name: [frank_wolfe[e] / table[name, most][e] for e in EPSILONS] for name in ("ALS", "DPALS")
    }
    shown = {name: " ".join(f"{ratio:.1f}" for ratio in some) for name, some in ratios.items()}
    found = [
        Relation(
            f"ALS is at least 7 times better than the better Frank-Wolfe with {most} users",
            shown["ALS"],
            min(ratios["ALS"]) >= 7,
        ),
        Relation("so is the paper's own DPALS", shown["DPALS"], min(ratios["DPALS"]) >= 7, False),
    ]
    for name, required in (("DPFW", True), ("FW", False)):
        at_1 = [table[name, n][1.0] for n in users]
        found.append(
            Relation(
                f"{name} at epsilon 1 is no better than the mean",
                " ".join(f"{each:.3f}" for each in at_1),
                min(at_1) > 0.98,
                required,
            )
        )
    better = [
        table["ALS", b][e] < table["ALS", a][e]
        for a, b in itertools.pairwise(users)
        for e in EPSILONS
    ]
    found.append(Relation("ALS gets better with users", f"{sum(better)} of {len(better)} pairs",
                          all(better)))  # fmt: skip
    return found


def step_relations(curves: dict[float, Curves]) -> list[Relation]:
    found = []
    for sigma, some in curves.items():
        als, fw = dict(some["DPALS"]), dict(some["FW"])
        claim = f"sigma {sigma:g}: 2 steps of DPALS beat 40 of Frank-Wolfe"
        found.append(Relation(claim, f"{als[2]:.3f} < {fw[40]:.3f}", als[2] < fw[40]))
        if sigma:
            ratio = min(fw.values()) / min(als.values())
            claim = f"sigma {sigma:g}: DPALS ends an order of magnitude lower"
            found.append(Relation(claim, f"{ratio:.1f} times", ratio >= 10, required=False))
    return found


def pictures(table: Table, curves: dict[float, Curves]) -> None:
    charts = []
    for n in sorted({n for _, n in table}):
        lines = {
            name: [(e, row[e]) for e in EPSILONS] for (name, m), row in table.items() if m == n
        }
        lines["mean"] = [(e, 1.0) for e in EPSILONS]
        charts.append(Chart(f"Figure 4: {n} users", lines, "epsilon", "test RMSE"))
    for sigma, some in curves.items():
        lines = {name: some[name] for name in some}
        if sigma:
            lines |= {f"{name}, no privacy": curves[0.0][name] for name in some}
            charts.append(Chart(f"Figure 7: sigma {sigma:g}", lines, "steps", "test RMSE"))
    draw(charts, "dpals_synthetic", 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few users, no chart, no verdict")
    parser.add_argument("--search", nargs=3, metavar=("SOLVER", "USERS", "TRIALS"))
    options = parser.parse_args()
    print(describe(2))
    if options.search:
        name, users, trials = options.search
        search(name, int(users), int(trials))
        return 0
    print("repeats    1 training each, fresh noise\n")
    users = (500, 1000) if options.quick else USERS
    trainings = [(n, name, e) for n in users[::-1] for name in reversed(FOUND) for e in FOUND[name]]
    steps = [
        (1000 if options.quick else 20_000, sigma, name, T)
        for sigma in SIGMAS
        for name, all_steps in (("DPALS", ALS_STEPS), ("FW", FW_STEPS))
        for T in all_steps
    ]
    # Many processes at a time, so nothing here is timed.
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        errors, later = pool.map(of_task, trainings), pool.map(of_steps, steps)
        table, curves = figure_4(errors, trainings), figure_7(later, steps)
    failed = verdict(relations(table) + step_relations(curves))
    if options.quick:
        return 0
    pictures(table, curves)
    return failed


if __name__ == "__main__":
    sys.exit(main())
