# SPDX-License-Identifier: Apache-2.0
"""The paper's own private ALS, tuned, beside `ALS()`, which is not: test RMSE on MovieLens 1M.

    python bench/papers/dpals.py [--search TRIALS]

The paper's algorithm is `ALS(gram=PerItem(ridge=..., centring="global"))`, sampling uniformly or
the rarest items, with a Gram matrix for each item, as in "Private Alternating Least Squares"
(2021), at an honest price. Its settings below are the best of a random search over the ranges of
the paper's Table 3 on the validation part (`--search 40`, one training a trial, for each epsilon).
`ALS()` and `ALS(gram="per-item")` have no setting here. What the search learned about the
validation ratings is not in any epsilon; it favours the paper's side only.
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
    from collections.abc import Iterator

    from tacit.data.ratings import Ratings
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn
    from tacit.solvers.base import Solver

EPSILONS = (1.0, 5.0, 20.0)
DELTA = 1e-5
SEEDS = 5

# Best of the search on the validation part, by epsilon: settings of ALS, then of PerItem.
FOUND: dict[float, tuple[dict[str, Any], dict[str, Any]]] = {}


def candidates(trials: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Random settings of the paper's algorithm, in the ranges of its Table 3."""
    rng = np.random.default_rng(2021)

    def among(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    for _ in range(trials):
        rank, steps = among(2, 4, 8, 16, 32), among(1, 2, 3, 4, 5)
        yield (
            {"rank": rank, "steps": steps, "averaging": 1.0},
            {
                "ridge": round(float(np.exp(rng.uniform(math.log(1), math.log(200)))), 2),
                "sampling": among("rarest", "rarest", "uniform"),
                "items_per_user": among(20, 30, 50, 80, 120, 150),
                "frequent": among(0.05, 0.1, 0.2, 0.4, 0.6, 1.0),
                "centring": "global",
                "item_power": among(0.0, 0.5, 1.0),
                "user_power": among(0.0, 0.5, 1.0),
                "clip": among(0.4, 0.6, 0.75),
                "count_share": among(0.02, 0.05, 0.1, 0.2),
                "gram_part": among(0.5, 0.33, 0.2, 0.1),
                "start_size": among(0.3, 1.0, 3.0),
            },
        )


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


def paper(settings: tuple[dict[str, Any], dict[str, Any]]) -> tacit.ALS:
    return tacit.ALS(**settings[0], gram=tacit.PerItem(**settings[1]))


def search(train_on: Ratings, validation: Trial, trials: int) -> None:
    for epsilon in EPSILONS:
        results = []
        for settings in candidates(trials):
            results.append((rmse(train_on, validation, paper(settings), epsilon), settings))
            best = min(results, key=lambda each: each[0])
        scores = sorted(score for score, _ in results)
        print(f"# epsilon {epsilon:g}: validation {scores[0]:.4f}, then {scores[1]:.4f}")
        print(f"    {epsilon}: {best[1]},", flush=True)


def compare(train_on: Ratings, test: Trial) -> None:
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
    compare(train_on, trial)
    return 0


if __name__ == "__main__":
    sys.exit(main())
