# SPDX-License-Identifier: Apache-2.0
"""The paper's own private ALS, tuned, beside `ALS()`, which is not: test RMSE on MovieLens 1M.

    python bench/papers/dpals.py [--search TRIALS]

The paper's algorithm is `ALS(gram=PerItem(ridge=..., centring="global"))`, sampling uniformly or
the rarest items, with a Gram matrix for each item, as in "Private Alternating Least Squares"
(2021), at an honest price. Its settings below are the best of searches over the ranges of the
paper's Table 3 on the validation part (`--search 60` and `--search 120`, one training a trial, for
each epsilon). `ALS()` and `ALS(gram="per-item")` have no setting and are given no trial at all.
What the search learned about the validation ratings is not in any epsilon; it favours the paper's
side only. Exits with 1 unless `ALS()` is better by at least 5%. Takes about four minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tacit
from accuracy import SETS, folder_of, halves
from machine import describe
from tacit.folding import users_of
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn
    from tacit.solvers.base import Solver

EPSILONS = (1.0, 5.0, 20.0)
DELTA = 1e-5
SEEDS = 5
LEAST_BETTER = 0.05


Settings = tuple[dict[str, Any], dict[str, Any]]

# The paper's Table 3; sizes in its terms. Ranks below 2 and above 32 never won at these budgets.
ALS_RANGES: dict[str, tuple[Any, ...]] = {"rank": (2, 4, 8, 16, 32), "steps": (1, 2, 3, 4, 5)}
PER_ITEM_RANGES: dict[str, tuple[Any, ...]] = {
    "ridge": (1, 2, 4, 8, 15, 30, 50, 70, 100, 140, 200),
    "sampling": ("rarest", "uniform"),
    "items_per_user": (20, 30, 50, 80, 120, 150),
    "frequent": (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0),
    "item_power": (0.0, 0.5, 1.0),
    "user_power": (0.0, 0.5, 1.0),
    "clip": (0.2, 0.3, 0.4, 0.5, 0.6, 0.75),
    "count_share": (0.02, 0.05, 0.1, 0.2),
    "gram_part": (0.1, 0.2, 0.33, 0.5),
    "start_size": (0.1, 0.3, 1.0, 3.0),
}


# Best of the search on the validation part, by epsilon: settings of ALS, then of PerItem.
FOUND: dict[float, Settings] = {
    # validation 1.0371
    1.0: (
        {"rank": 8, "steps": 1},
        {
            "ridge": 100,
            "sampling": "rarest",
            "items_per_user": 20,
            "frequent": 0.05,
            "item_power": 0.0,
            "user_power": 1.0,
            "clip": 0.5,
            "count_share": 0.2,
            "gram_part": 0.33,
            "start_size": 0.1,
        },
    ),
    # validation 1.0104
    5.0: (
        {"rank": 32, "steps": 2},
        {
            "ridge": 30,
            "sampling": "rarest",
            "items_per_user": 50,
            "frequent": 0.05,
            "item_power": 1.0,
            "user_power": 0.5,
            "clip": 0.3,
            "count_share": 0.05,
            "gram_part": 0.1,
            "start_size": 3.0,
        },
    ),
    # validation 0.9813
    20.0: (
        {"rank": 8, "steps": 3},
        {
            "ridge": 15,
            "sampling": "uniform",
            "items_per_user": 50,
            "frequent": 0.3,
            "item_power": 0.5,
            "user_power": 0.0,
            "clip": 0.2,
            "count_share": 0.1,
            "gram_part": 0.33,
            "start_size": 1.0,
        },
    ),
}


def anywhere(rng: np.random.Generator) -> Settings:
    """Settings drawn from the whole ranges."""
    als, per_item = (
        {name: values[rng.integers(len(values))] for name, values in ranges.items()}
        for ranges in (ALS_RANGES, PER_ITEM_RANGES)
    )
    return als, per_item


def near(settings: Settings, rng: np.random.Generator) -> Settings:
    """The settings with each of them moved, with probability 1/3, to a neighbour in its range."""

    def moved(value: Any, values: tuple[Any, ...]) -> Any:
        if rng.random() > 1 / 3:
            return value
        place = values.index(value) + (1 if rng.random() < 0.5 else -1)
        return values[min(max(place, 0), len(values) - 1)]

    als, per_item = (
        {name: moved(value, ranges[name]) for name, value in some.items()}
        for some, ranges in zip(settings, (ALS_RANGES, PER_ITEM_RANGES), strict=True)
    )
    return als, per_item


def predicted(fold: FoldIn, trial: Trial) -> np.ndarray:
    """As the paper predicts: an item without factors by the user's own mean rating."""
    guess = fold.predict(trial.history, trial.target)
    known = np.maximum(np.diff(trial.history.indptr), 1)
    sums = np.bincount(
        users_of(trial.history), trial.history.values, minlength=trial.history.n_users
    )
    means = np.where(np.diff(trial.history.indptr) > 0, sums / known, np.mean(trial.scale))
    factors = fold.item_factors.any(axis=1)[trial.target.items]
    return np.where(factors, guess, means[users_of(trial.target)])


def rmse(train_on: Ratings, trial: Trial, solver: Solver, epsilon: float) -> float:
    """Of one training with fresh noise; predictions are cut to the scale."""
    fold = train(train_on, solver, Budget(epsilon, DELTA), Execution()).model.folding
    paper = isinstance(getattr(solver, "gram", None), tacit.PerItem)
    guess = predicted(fold, trial) if paper else fold.predict(trial.history, trial.target)
    errors = np.clip(guess, *trial.scale) - trial.target.values
    return float(np.sqrt(np.mean(errors**2)))


def paper(settings: Settings) -> tacit.ALS:
    als, per_item = settings
    return tacit.ALS(**als, averaging=1.0, gram=tacit.PerItem(**per_item, centring="global"))


def search(train_on: Ratings, validation: Trial, trials: int) -> None:
    """Half of the trials anywhere, half of them near the best so far."""
    for epsilon in EPSILONS:
        rng = np.random.default_rng(2021)
        best, least = anywhere(rng), math.inf
        for number in range(trials):
            settings = anywhere(rng) if number < trials / 2 else near(best, rng)
            score = rmse(train_on, validation, paper(settings), epsilon)
            if score < least:
                best, least = settings, score
        print(f"    # validation {least:.4f}\n    {epsilon}: {best},", flush=True)


def compare(train_on: Ratings, test: Trial) -> int:
    """Print the table; how many epsilons miss what is required."""
    missed = 0
    print(f"{'epsilon':>7s} {'solver':24s} {'RMSE':>7s} {'+-':>7s} {'over the paper':>15s}")
    for epsilon in EPSILONS:
        first = math.nan
        for name, solver in (
            ("the paper's, tuned", paper(FOUND[epsilon])),
            ('ALS(gram="per-item")', tacit.ALS(gram="per-item")),
            ("ALS()", tacit.ALS()),
        ):
            runs = [rmse(train_on, test, solver, epsilon) for _ in range(SEEDS)]
            mean = float(np.mean(runs))
            first = mean if math.isnan(first) else first
            print(
                f"{epsilon:7g} {name:24s} {mean:7.4f} {np.std(runs, ddof=1):7.4f} "
                f"{100 * (mean / first - 1):14.1f}%",
                flush=True,
            )
        missed += mean / first - 1 > -LEAST_BETTER
    print(f"\nrequired   ALS() at least {LEAST_BETTER:.0%} better: {'no' if missed else 'yes'}")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--search", type=int, metavar="TRIALS")
    trials = parser.parse_args().search
    print(describe(2))
    folder = folder_of(SETS[0])
    if folder is None:
        print("\nml-1m: absent; set TACIT_DATA to the folder that holds it")
        return 0
    train_on, trial = halves(SETS[0], folder, "validation" if trials else "test")
    if trials:
        search(train_on, trial, trials)
        return 0
    print(f"repeats    {SEEDS} trainings, fresh noise each; delta {DELTA:g}, exact, zero-out\n")
    return 1 if compare(train_on, trial) else 0


if __name__ == "__main__":
    sys.exit(main())
