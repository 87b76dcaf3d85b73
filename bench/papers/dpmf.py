# SPDX-License-Identifier: Apache-2.0
"""The protocols of paper 004 on the Netflix prize and on Yahoo! Music (Liu, Wang, Smola, 2015).

    python bench/papers/dpmf.py [--data netflix|yahoo-music] [--ranks 16 256] [--posterior]

Neither set is to be had by everybody: set TACIT_DATA to the folder that holds them as they are
published, Netflix with its probe.txt, Yahoo! Music (KDD Cup 2011, track 1) with validationIdx1.txt.
What is absent is said to be. RMSE in stars on the published validation ratings.

  C-SGD (6.3)     `SGD` with the paper's step sizes and regularisers, so many epochs, by dimension;
                  seconds of training, reading and arranging included
  figure 7 (6.6)  by epsilon, K = 16, users trimmed to tau ratings, at the epsilon that is written:
                  `Langevin()`, whose statement is true; the same on all ratings; `ALS()`. With
                  --posterior one sample of Algorithm 1 as it stands, at the temperature at which an
                  exact sample has that epsilon (zero-out); the paper's epsilon is four times that

Of the paper's two sets of ratings the shapes alone are in bench/papers/sgld.py, which anybody can
run. With both sets this takes hours and some 16 GB.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import protocols

import tacit
from machine import describe
from tacit.evaluation.trials import trial
from tacit.mechanisms.posterior import NothingInRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tacit.data.ratings import Ratings
    from tacit.solvers import Solver

EPSILONS = (1.0, 10.0, 100.0, 250.0)
KAPPA = 1.0
RANK = 16  # of figure 7


class Settings(NamedTuple):
    """Of the paper, for one set. eta and regulariser are for ratings in stars.

    tau: most ratings of a user. rho: most weight of one.
    """

    parts: Callable[[Path], tuple[Ratings, Ratings]]
    epochs: int
    eta: float
    regulariser: float
    tau: int
    rho: float

    def sgd(self, rank: int, width: float) -> tacit.SGD:
        """Steps there are in quarters of the scale's width: see docs/algorithms/sgd.md."""
        unit = width / 4
        return tacit.SGD(
            rank=rank,
            epochs=self.epochs,
            rate=self.eta * unit,
            ridge=self.regulariser / unit,
            decay=1.0,
        )

    def posterior(self, epsilon: float, width: float) -> tacit.Langevin:
        temperature = self.tau * (width + KAPPA) ** 2 / epsilon
        return tacit.Langevin(
            guarantee="posterior",
            converged="assumed",
            rank=RANK,
            steps=15,
            trim=self.tau,
            kappa=KAPPA,
            most_weight=self.rho,
            ridge=2 * temperature,
        )


SETS = {
    "netflix": Settings(protocols.netflix, 15, 0.02, 0.005, 100, 10.0),
    "yahoo-music": Settings(protocols.yahoo_music, 30, 0.08, 0.05, 200, 30.0),
}


def error(train: Ratings, asked: Ratings, solver: Solver, epsilon: float) -> float:
    """Test RMSE; users fold in with what they trained with. NaN where the sampler gives up."""
    try:
        fold = tacit.fit(train, solver, epsilon=epsilon).model.folding
    except NothingInRangeError:
        return math.nan
    return protocols.rmse(fold, trial(train, asked))


def by_dimension(train: Ratings, asked: Ratings, settings: Settings, ranks: list[int]) -> None:
    width = train.scale.high - train.scale.low
    print(f"C-SGD, {settings.epochs} epochs\n   K     RMSE  seconds")
    for rank in ranks:
        start = time.perf_counter()
        fold = tacit.fit(train, settings.sgd(rank, width), epsilon=math.inf).model.folding
        seconds = time.perf_counter() - start
        found = protocols.rmse(fold, trial(train, asked))
        print(f"{rank:4d}   {found:6.4f}  {seconds:7.1f}", flush=True)


def by_epsilon(train: Ratings, asked: Ratings, settings: Settings, *, posterior: bool) -> None:
    width = train.scale.high - train.scale.low
    trimmed = protocols.at_most(train, settings.tau, seed=0)
    ways: list[tuple[str, Ratings, Callable[[float], Solver]]] = [
        ("Langevin(), trimmed", trimmed, lambda _: tacit.Langevin(rank=RANK)),
        ("Langevin()", train, lambda _: tacit.Langevin(rank=RANK)),
        ("ALS()", train, lambda _: tacit.ALS()),
    ]
    if posterior:
        ways.append(("posterior, NOT PRIVATE", trimmed, lambda e: settings.posterior(e, width)))
    print(f"\nRMSE by epsilon, tau = {settings.tau}")
    print(f"{'':23s}" + "".join(f"{epsilon:9g}" for epsilon in EPSILONS))
    for label, ratings, solver in ways:
        found = [error(ratings, asked, solver(epsilon), epsilon) for epsilon in EPSILONS]
        print(f"{label:23s}" + "".join(f"{each:9.4f}" for each in found), flush=True)
    without = error(train, asked, tacit.Langevin(rank=RANK), math.inf)
    print(f"{'not private':23s}{without:9.4f}\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=list(SETS), help="one of them; both by default")
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 256, 2048])
    parser.add_argument("--posterior", action="store_true", help="samples of Algorithm 1, too")
    options = parser.parse_args(arguments)
    print(describe(2) + "\n")
    for name in [options.data] if options.data else SETS:
        folder = protocols.find(name)
        if folder is None:
            print(f"{name} absent; set TACIT_DATA")
            continue
        train, asked = SETS[name].parts(folder)
        print(f"{name}: {train.n_users} users, {train.n_items} items")
        by_dimension(train, asked, SETS[name], options.ranks)
        by_epsilon(train, asked, SETS[name], posterior=options.posterior)
    return 0


if __name__ == "__main__":
    sys.exit(main())
