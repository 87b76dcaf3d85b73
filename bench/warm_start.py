# SPDX-License-Identifier: Apache-2.0
"""What a start from an earlier model gives: to private trainings, and to a descent that goes on.

    python bench/warm_start.py

MovieLens 1M by users: a few of them, chosen by seed 0, are taken to have published their ratings;
`ALS(rank=9)` is trained on those
without noise. All others are private: 80/10/10 by rating, seed 0; their test
ratings are what every RMSE is of.

  public model   as it is: private users fold in, nothing of theirs is used
  without        a private training from random factors, on the private users alone
  with           the same from `WarmStart(public model, "public ratings")`, at the same epsilon

The descent: `SGD(rank=16)` on all training ratings for 20 epochs; and in two halves, the second of
which starts from the first one's model, at the step size that the first has ended with.

Required: a start from a tenth of all users, or more, makes no private training worse, and the
second half ends where all 20 epochs do. About two minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

import tacit
from accuracy import MOVIELENS, SETS, folder_of
from machine import describe
from tacit.data.split import by_rating
from tacit.evaluation.ranking import predictions
from tacit.evaluation.trials import Trial, trial

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.folding import FoldIn
    from tacit.solvers import Solver

SHARES = (0.02, 0.1, 0.5)
EPSILONS = tuple(epsilon for epsilon in MOVIELENS if epsilon <= 20)
DELTA = 1e-5
SEEDS = 3
WANTED_FROM = 0.1
NO_WORSE = 1.001  # noise of three repeats
EPOCHS, RATE = 20, tacit.SGD().rate


class Parts(NamedTuple):
    """The ratings of those who published them, of the others, and what is asked of these."""

    public: Ratings
    private: Ratings
    asked: Trial


def parts(table: pa.Table, share: float) -> Parts:
    items = pc.unique(table["item"]).sort().to_pylist()
    ids = pc.unique(table["user"]).sort().to_numpy()
    chosen = np.random.default_rng(0).permutation(ids)[: round(share * len(ids))]
    published = pc.is_in(table["user"], pa.array(chosen))
    train, _, test = (
        tacit.read(rows, items=items, scale=(1, 5))
        for rows in by_rating(table.filter(pc.invert(published)))
    )
    public = tacit.read(table.filter(published), items=items, scale=(1, 5))
    return Parts(public, train, trial(train, test))


def rmse(fold: FoldIn, asked: Trial) -> float:
    found = np.clip(predictions(fold, asked.history, asked.target), *asked.scale)
    return float(np.sqrt(np.mean((found - asked.target.values) ** 2)))


def mean_rmse(of: Parts, solver: Solver, epsilon: float) -> float:
    return float(
        np.mean(
            [
                rmse(
                    tacit.fit(of.private, solver, epsilon=epsilon, delta=DELTA).model.folding,
                    of.asked,
                )
                for _ in range(SEEDS)
            ]
        )
    )


def private_trainings(table: pa.Table) -> bool:
    print("public users   epsilon   public model   ", end="")
    print("".join(f"{name:>10s} without    with" for name in ("ALS", "Gradient")))
    kept = True
    for share in SHARES:
        of = parts(table, share)
        model = tacit.fit(of.public, tacit.ALS(rank=9), epsilon=math.inf).model
        start = tacit.WarmStart(model, "public ratings")
        alone = rmse(model.folding, of.asked)
        for epsilon in EPSILONS:
            row = f"{of.public.n_users:12d}   {epsilon:7g}   {alone:12.4f}   "
            for kind in (tacit.ALS, tacit.Gradient):
                without, with_it = (
                    mean_rmse(of, solver, epsilon) for solver in (kind(), kind(start=start))
                )
                row += f"{without:18.4f} {with_it:7.4f}"
                kept &= share < WANTED_FROM or with_it <= NO_WORSE * without
            print(row, flush=True)
    verdict = "reached" if kept else "MISSED"
    print(f"\nfrom a tenth of the users on never worse with a start: {verdict}")
    return kept


def going_on(table: pa.Table) -> bool:
    of = parts(table, 0.02)
    half = EPOCHS // 2

    def trained(epochs: int, **settings: object) -> tuple[tacit.ItemModel, float]:
        solver = tacit.SGD(rank=16, epochs=epochs, **settings)
        model = tacit.fit(of.private, solver, epsilon=math.inf).model
        return model, rmse(model.folding, of.asked)

    _, whole = trained(EPOCHS)
    first, at_half = trained(half)
    later = {"rate": RATE / half**0.5, "start": tacit.WarmStart(first)}
    every = [(epochs, trained(epochs, **later)[1]) for epochs in (1, 2, 5, half)]
    print(f"\nSGD, {EPOCHS} epochs {whole:.4f}; {half} epochs {at_half:.4f}; started from these")
    print("".join(f"{epochs:4d} more {error:.4f}" for epochs, error in every))
    reached = every[-1][1] <= NO_WORSE * whole
    print(f"{half} and {half} are as good as {EPOCHS}: {'reached' if reached else 'MISSED'}")
    return reached


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print(describe(2))
    print(f"repeats    {SEEDS} of each private training, fresh noise; mean test RMSE\n")
    folder = folder_of(SETS[0])
    if folder is None:
        print("ml-1m absent; set TACIT_DATA")
        return 0
    table = parquet.read_table(folder / "ratings.parquet")
    return 0 if private_trainings(table) & going_on(table) else 1


if __name__ == "__main__":
    sys.exit(main())
