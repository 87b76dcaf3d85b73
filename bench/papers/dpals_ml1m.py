# SPDX-License-Identifier: Apache-2.0
"""Studies of the paper on private ALS (000 and 003) that are on MovieLens 10M and 20M, on 1M.

    python bench/papers/dpals_ml1m.py

MovieLens 1M has a twelfth of the users and a third of the items, so that privacy costs more: the
epsilons here are larger than the paper's where a figure has one. The paper's form of ALS with the
settings that bench/papers/dpals.py has found for its epsilon; one thing is changed at a time and
nothing is tuned again, where the paper tunes again. Test RMSE, two trainings each, exact epsilon.

  figures 2, 6   what sampling at most 50 ratings of a user does to the popularity of items
  figure 3a      the 400 most rated items: private ALS beside private Frank-Wolfe
  figure 5       adaptive and uniform sampling, and no projection, by the share of items trained on
  figure 8       fewer users
  figure 9       ranks
  figure 10      by the share of items trained on, at each epsilon
  figure 12      exponents of the ridges
Nothing is required: docs/papers.md says which claims are found again. Takes about four minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import protocols
from dpals import DELTA, FOUND, paper, rmse

import tacit
from machine import describe
from tacit.bounding import item_limit
from tacit.data.split import rows_of
from tacit.evaluation.trials import Trial, trial

if TYPE_CHECKING:
    from tacit.data.block import UserBlock
    from tacit.data.ratings import Ratings
    from tacit.solvers import Solver

REPEATS = 2
K = 50
SHARES = (0.05, 0.3, 1.0)


class Study:
    """The ratings, and what is asked of every training."""

    def __init__(self, train: Ratings, asked: Trial) -> None:
        self.train, self.asked = train, asked

    def error(self, solver: Solver, epsilon: float) -> float:
        runs = [rmse(self.train, self.asked, solver, epsilon) for _ in range(REPEATS)]
        return float(np.mean(runs))

    def with_settings(self, epsilon: float, **changes: Any) -> float:
        """Of the paper's form as it was found, with these changes."""
        als, per_item = (dict(each) for each in FOUND[min(epsilon, 20.0)])
        for name, value in changes.items():
            (als if name in als else per_item)[name] = value
        return self.error(paper((als, per_item)), epsilon)


def row(label: str, values: list[float]) -> None:
    print(f"  {label:26s}" + "".join(f"{value:9.4f}" for value in values), flush=True)


def head(title: str, columns: list[str]) -> None:
    print(f"\n{title}\n  {'':26s}" + "".join(f"{each:>9s}" for each in columns))


def popularity(block: UserBlock) -> None:
    head("figures 2 and 6: share of ratings on the top 20% of items", ["share"])
    counts = np.bincount(block.items, minlength=block.n_items)
    top = np.argsort(-counts)[: block.n_items // 5]
    for label, some in (
        ("all", block),
        (f"uniform, {K} a user", item_limit.uniform(block, K, seed=0)),
        (f"adaptive, {K} a user", item_limit.rarest_first(block, K, noisy_counts=counts + 0.0)),
    ):
        row(label, [float(np.isin(some.items, top).mean())])
    sizes = np.diff(block.indptr)[block.user_of_rating()]
    print(f"  correlation of counts {np.corrcoef(sizes, counts[block.items])[0, 1]:.3f}")


def top400(study: Study, test: Ratings) -> None:
    items = protocols.most_rated(study.train)
    train, asked = (protocols.only(part, items) for part in (study.train, test))
    some = Study(train, trial(train, asked))
    epsilons = (1.0, 5.0, 20.0)
    head("figure 3a: the 400 most rated items, by epsilon", [f"{e:g}" for e in epsilons])
    row("the paper's ALS", [some.with_settings(e, frequent=1.0) for e in epsilons])
    published = tacit.FrankWolfe(offset_share=0)
    row("Frank-Wolfe, no offsets", [some.error(published, e) for e in epsilons])
    row("FrankWolfe()", [some.error(tacit.FrankWolfe(), e) for e in epsilons])
    row("ALS()", [some.error(tacit.ALS(), e) for e in epsilons])


def studies(study: Study) -> None:
    shares = [f"{share:g}" for share in SHARES]
    head("figure 5: epsilon 20, by share of items", shares)
    for label, changes in (
        ("adaptive", {"sampling": "rarest"}),
        ("uniform", {"sampling": "uniform"}),
        ("adaptive, no projection", {"sampling": "rarest", "projection": "none"}),
    ):
        row(label, [study.with_settings(20, frequent=s, **changes) for s in SHARES])
    row("uniform, without noise", [study.with_settings(math.inf, frequent=s) for s in SHARES])
    parts = (0.25, 0.5, 1.0)
    head("figure 8: epsilon 20, by share of users", [f"{part:g}" for part in parts])
    row("the paper's ALS", [fewer(study, part).with_settings(20) for part in parts])
    epsilons = (1.0, 5.0, 20.0, math.inf)
    head("figure 9: rank, by epsilon", [f"{e:g}" for e in epsilons])
    for rank in (2, 8, 32):
        row(f"rank {rank}", [study.with_settings(e, rank=rank) for e in epsilons])
    head("figure 10: epsilon, by share of items", shares)
    for epsilon in epsilons[:3]:
        row(f"epsilon {epsilon:g}", [study.with_settings(epsilon, frequent=s) for s in SHARES])
    head("figure 12: epsilon 20, exponents of users and items, by share of items", shares)
    for user, item in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.5)):
        powers = {"user_power": user, "item_power": item}
        found = [study.with_settings(20, frequent=s, **powers) for s in SHARES]
        row(f"nu {user:g}, mu {item:g}", found)


def fewer(study: Study, share: float) -> Study:
    """A random part of the users; the test is theirs."""
    whole = study.train
    n_users = round(share * whole.n_users)
    some = np.sort(np.random.default_rng(0).permutation(whole.n_users)[:n_users])
    history, target = (rows_of(each, some) for each in (study.asked.history, study.asked.target))
    train = replace(whole, rows=rows_of(whole.block, some), ids=whole.user_ids[some])
    return Study(train, replace(study.asked, history=history, target=target))


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    print(describe(2))
    folder = protocols.find("ml-1m")
    if folder is None:
        print("\nml-1m absent; set TACIT_DATA")
        return 0
    print(f"repeats    {REPEATS} trainings, fresh noise each; delta {DELTA:g}, zero-out")
    train, _, test = protocols.by_rating(tacit.datasets.load("ml-1m", folder), 0.1, 0)
    asked = trial(train, test)
    popularity(train.block)
    top400(Study(train, asked), test)
    studies(Study(train, asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
