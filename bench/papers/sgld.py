# SPDX-License-Identifier: Apache-2.0
"""What privacy and a look-up table cost SGLD (Liu, Wang, Smola, 2015: figures 4 and 7).

    python bench/papers/sgld.py [--users 2000]

Made-up ratings in the shape of the Netflix prize. RMSE is in stars, on a part of the ratings that
is not trained on.

Budget: users' ratings of the 400 most rated movies; zero-out epsilon, as it truly is.
  noisy gradient   `Langevin()`: every gradient is priced; delta 1e-5; a true statement
  posterior        one sample of Algorithm 1, K = 8, trimmed to tau = 100 ratings, weights of 1,
                   kappa = 1, at the corrected temperature B / epsilon (the paper's epsilon is four
                   times the true one). Priced as if the chain had converged: NOT PRIVATE
  weights          the same; light users' ratings weigh up to rho = 10
  untrimmed        the same; all of a user's ratings count, which makes B four times as large
The ridge of a posterior is twice its temperature: with less, hardly any draw of a user's factors
keeps all her predictions within reach, and the sampler gives up.
Required: the noisy gradient is better than every posterior at every epsilon.

Table: SGLD at K = 16 with fresh normals, and with contiguous pieces, at random places, of a table
of so many normals. The paper's claim: 10,000 are enough. Required: they cost less than 1%, and
fresh normals cost nothing in quality. A table must never make noise for privacy.
Also written: docs/figures/sgld.svg. About a minute on a quiet machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import matplotlib as mpl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import protocols
from descents import Prepared, descend

import tacit
from machine import describe
from tacit.datasets import netflix_like
from tacit.descent import pending
from tacit.evaluation.split import leave_part_out
from tacit.evaluation.trials import trial
from tacit.mechanisms.posterior import NothingInRangeError

mpl.use("svg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings
    from tacit.evaluation.trials import Trial
    from tacit.mechanisms.entropy import NoiseSource

USERS = 480_189  # of the Netflix prize
ITEMS = 400
EPSILONS = (1.0, 10.0, 100.0, 1000.0)
DELTA = 1e-5
TRIM, KAPPA, RHO, STEPS = 100, 1.0, 10.0, 15
TABLES = (100, 1_000, 10_000, 100_000, 1_000_000)
RANK, EPOCHS = 16, 15
FIGURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "sgld.svg"


# --- error against epsilon -----------------------------------------------------------------------


def posterior(epsilon: float, width: float, trim: int, most_weight: float) -> tacit.Langevin:
    temperature = trim * (width + KAPPA) ** 2 / epsilon
    return tacit.Langevin(
        guarantee="posterior",
        converged="assumed",
        rank=8,
        steps=STEPS,
        trim=trim,
        kappa=KAPPA,
        most_weight=most_weight,
        ridge=2 * temperature,
    )


def budgets(users: int) -> dict[str, list[float]]:
    """Test error by way and epsilon, printed row by row; NaN where the sampler gave up."""
    ratings = netflix_like(users / USERS)
    ratings = protocols.only(ratings, protocols.most_rated(ratings, ITEMS))
    train, test = leave_part_out(ratings, 0.1)
    asked, width = trial(train, test), ratings.scale.high - ratings.scale.low
    ways: dict[str, Callable[[float], tacit.Langevin]] = {
        "noisy gradient": lambda _: tacit.Langevin(),
        "posterior": lambda epsilon: posterior(epsilon, width, TRIM, 1.0),
        "weights": lambda epsilon: posterior(epsilon, width, TRIM, RHO),
        "untrimmed": lambda epsilon: posterior(epsilon, width, ITEMS, 1.0),
    }
    print(f"budget: {train.n_users} x {ITEMS}, test RMSE at epsilon")
    print(f"{'':15s}" + "".join(f"{epsilon:9g}" for epsilon in EPSILONS))
    found = {}
    for label, solver in ways.items():
        found[label] = [_error(train, asked, solver(epsilon), epsilon) for epsilon in EPSILONS]
        print(f"{label:15s}" + "".join(f"{error:9.4f}" for error in found[label]), flush=True)
    mean = protocols.rmse(tacit.fit(train, tacit.ItemOffsets(), epsilon=1.0).model.folding, asked)
    print(f"{'item offsets':15s}{mean:9.4f}   at epsilon 1")
    return found


def _error(train: Ratings, asked: Trial, solver: tacit.Langevin, epsilon: float) -> float:
    try:
        fit = tacit.fit(train, solver, epsilon=epsilon, delta=DELTA)
    except NothingInRangeError:
        return float("nan")
    return protocols.rmse(fit.model.folding, asked)


def private_wins(found: dict[str, list[float]]) -> bool:
    others = np.array([errors for label, errors in found.items() if label != "noisy gradient"])
    kept = bool((np.nan_to_num(others, nan=np.inf) > np.array(found["noisy gradient"])).all())
    print(f"noisy gradient better everywhere: {'reached' if kept else 'missed'}\n")
    return kept


# --- a look-up table -----------------------------------------------------------------------------


class Table:
    """Stands where fresh normals are drawn."""

    def __init__(self, numbers: int) -> None:
        self.rng = np.random.default_rng(0)
        self.normals = self.rng.standard_normal(numbers)

    def __call__(self, std: float, size: tuple[int, int], source: NoiseSource) -> NDArray[np.int64]:
        del source
        rows, columns = size
        place = self.rng.integers(len(self.normals), size=rows)[:, None] + np.arange(columns)
        drawn = self.normals[place % len(self.normals)]
        return np.rint(std * drawn).astype(np.int64)


def tables(users: int) -> dict[str, tuple[float, float]]:
    """Test error of the last sample, and of the mean of the samples after a third."""
    data = Prepared.of(netflix_like(users / USERS), "lock-free")
    print(f"table: {data.n_users} x 17770, {data.n_ratings} ratings, K = {RANK}, {EPOCHS} epochs")
    print(f"{'normals':15s}   one sample   mean of samples   over fresh")
    found: dict[str, tuple[float, float]] = {}
    for numbers in (None, *TABLES):
        drawn = pending.rounded_gaussian if numbers is None else Table(numbers)
        with mock.patch.object(pending, "rounded_gaussian", drawn):
            watch = descend(data, RANK, EPOCHS, sample=True, threads=1)
        label = "fresh" if numbers is None else f"{numbers:,}"
        found[label] = watch.errors[-1], watch.averaged[-1]
        one, mean = found[label]
        over = 100 * (mean / found["fresh"][1] - 1)
        print(f"{label:15s}{one:13.4f}{mean:18.4f}{over:+12.2f}%", flush=True)
    return found


def enough(found: dict[str, tuple[float, float]]) -> bool:
    kept = abs(found["10,000"][1] / found["fresh"][1] - 1) < 0.01
    print(f"10,000 normals within 1% of fresh ones: {'reached' if kept else 'missed'}")
    return kept


# --- both ----------------------------------------------------------------------------------------


def draw(by_budget: dict[str, list[float]], by_table: dict[str, tuple[float, float]]) -> None:
    """The same numbers give the same file."""
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    for label, errors in by_budget.items():
        left.plot(EPSILONS, errors, label=label, linewidth=1)
    left.set(title="what privacy costs", xscale="log", xlabel="epsilon", ylabel="test RMSE")
    for n, label in enumerate(("one sample", "mean of samples")):
        errors = [by_table[f"{numbers:,}"][n] for numbers in TABLES]
        (line,) = right.plot(TABLES, errors, label=label, linewidth=1)
        right.axhline(by_table["fresh"][n], linestyle=":", linewidth=1, color=line.get_color())
    right.set(title="what a table costs", xscale="log", xlabel="normals; dotted: fresh")
    for axis in (left, right):
        axis.legend(fontsize=6)
    figure.tight_layout()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=2_000)
    options = parser.parse_args()
    print(describe(2))
    print("repeats    1\n")
    by_budget = budgets(options.users)
    wins = private_wins(by_budget)
    by_table = tables(options.users)
    kept = enough(by_table)
    draw(by_budget, by_table)
    return 0 if wins and kept else 1


if __name__ == "__main__":
    sys.exit(main())
