# SPDX-License-Identifier: Apache-2.0
"""Seconds of one private step: gradient and Langevin beside ALS, and ALS at ten times the users.

    python bench/steps.py > bench/results/steps.txt

A step is what a solver does between two releases of its factors: users find theirs, sums are added
up, noise is drawn, items move. It is read off the clock at which releases are reported. All take
turns in one run, and the best of each counts. The larger data are the same users ten times over.
A few minutes.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tacit
from machine import describe
from tacit.data.block import UserBlock
from tacit.datasets import movielens_like
from tacit.kernels import isa
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.solvers.base import Solver

THREADS = 2
TURNS = 4
RANK = 64
MORE, RANK_OF_MORE = 10, 32
# "No measurable slow-down": what one run differs from the next by on a quiet machine.
MEASURABLE = 1.1


class Case(NamedTuple):
    solver: Solver
    epsilon: float
    times: int = 1  # the same users so often


ALS = Case(tacit.ALS(rank=RANK, steps=4), 1.0)
GRADIENT = Case(tacit.Gradient(rank=RANK, steps=4), 1.0)
LANGEVIN = Case(tacit.Langevin(rank=RANK, steps=4), 1.0)
FEW = Case(tacit.ALS(rank=RANK_OF_MORE, steps=3), 1.0)
MANY = FEW._replace(times=MORE)


def step_seconds(ratings: Ratings, solver: Solver, epsilon: float) -> float:
    """The shortest time between two reports of one training's factors."""
    times: list[float] = []

    def note(release: str) -> None:
        if release == "factors":
            times.append(time.perf_counter())

    train(ratings, solver, Budget(epsilon, 1e-7), Execution(threads=THREADS, progress=note))
    gc.collect()
    return float(min(np.diff(times)))


def repeated(ratings: Ratings, times: int) -> Ratings:
    """The same users so often."""
    block = ratings.block
    lengths = np.tile(np.diff(block.indptr), times)
    rows = UserBlock(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        np.tile(block.items, times),
        np.tile(block.values, times),
        block.n_items,
    )
    return replace(ratings, rows=rows, ids=np.arange(rows.n_users))


def judged(what: str, ratio: float, most: float) -> bool:
    """Print the ratio; is it reached?"""
    print(f"{what:44s} {ratio:6.2f} {most:9.2f}")
    return ratio <= most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    turns = parser.parse_args().turns
    print(describe(THREADS))
    ratings = movielens_like()
    print(f"kernel     {isa()}")
    print(
        f"data       {ratings.n_users} users x {ratings.n_items} items, movielens_like() defaults"
    )
    print(f"repeats    best of {turns} turns, in each the best of 2 or 3 steps\n")
    data = {1: ratings, MORE: repeated(ratings, MORE)}
    seconds = dict.fromkeys((ALS, GRADIENT, LANGEVIN, FEW, MANY), math.inf)
    for _ in range(turns):
        for case in seconds:
            took = step_seconds(data[case.times], case.solver, case.epsilon)
            seconds[case] = min(seconds[case], took)
    print(f"{'step':44s} {'users':>8s} {'seconds':>8s} {'us/user':>8s}")
    for case, took in seconds.items():
        users = data[case.times].n_users
        name = f"{type(case.solver).__name__}, rank {case.solver.rank}"
        print(f"{name:44s} {users:8d} {took:8.3f} {took / users * 1e6:8.2f}")
    print(f"\n{'':44s} {'ratio':>6s} {'required':>9s}")
    reached = [
        judged("Gradient step / ALS step", seconds[GRADIENT] / seconds[ALS], 1.0),
        judged("Langevin step / ALS step", seconds[LANGEVIN] / seconds[ALS], 1.0),
        judged(
            f"ALS, time per user, {MORE} times the users",
            seconds[MANY] / seconds[FEW] / MORE,
            MEASURABLE,
        ),
    ]
    print("\nall required figures reached" if all(reached) else "\nMISSED")
    return int(not all(reached))


if __name__ == "__main__":
    sys.exit(main())
