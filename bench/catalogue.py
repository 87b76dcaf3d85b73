# SPDX-License-Identifier: Apache-2.0
"""A million items: training with one shared Gram matrix, and an index that finds the best items.

Ratings are made up; rows stay on disk. The index of the trained model is asked for the ten best
items of users, which ranking all items finds as well: recall is the share that both have. With ten
ratings an item the best are few, and among the longest, which are looked at anyway. So another
index is made of factors that are drawn: lengths and offsets vary by a tenth only, so that the best
differ from user to user, and some of them can be found in the graph alone.

About 3 minutes.

    python bench/catalogue.py > bench/results/catalogue.txt
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tacit
from machine import describe
from scale import verdict
from scale_run import clear_peak, made_on_the_fly, peak_memory
from tacit.datasets import netflix_blocks
from tacit.folding import Centring, FoldIn
from tacit.serving.known import Known
from tacit.serving.nearest import NearestItems, equally_long
from tacit.serving.rank import Ranker, rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from tacit import ItemModel

RANK, STEPS, ASKED, ALONE, N = 64, 4, 400, 50, 10
MOST_MEMORY, LEAST_RECALL = 6 * 2**30, 0.95


def asking(users: int, items: int, ratings: int) -> Known:
    """The histories of some users."""
    block = next(netflix_blocks(users, items, ratings)).rows(0, ASKED)
    return Known(block.indptr, block.items, block.values, np.arange(ASKED))


def drawn(items: int) -> tuple[FoldIn, Known]:
    """Factors of falling weight, of nearly the same length; users who rate by them."""
    rng = np.random.default_rng(0)
    weights = (np.arange(1, RANK + 1) ** -0.5).astype(np.float32)
    weights /= np.linalg.norm(weights)
    V = rng.standard_normal((items, RANK), np.float32) * weights
    V *= 0.6 * rng.lognormal(0.0, 0.1, (items, 1)).astype(np.float32)
    offsets = rng.normal(3.5, 0.1, items)
    lengths = rng.integers(20, 200, ASKED)
    which = [np.sort(rng.choice(items, length, replace=False)) for length in lengths]
    tastes = rng.standard_normal((ASKED, RANK)) * weights * math.sqrt(RANK) / 2
    stars = [
        offsets[rated] + V[rated] @ taste + rng.normal(0, 0.75, len(rated))
        for rated, taste in zip(which, tastes, strict=True)
    ]
    values = np.clip(np.rint(np.concatenate(stars)), 1, 5).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    known = Known(indptr, np.concatenate(which).astype(np.int32), values, np.arange(ASKED))
    return FoldIn(V, Centring(offsets), ridge=5.0), known


def line(text: str, seconds: float, cpu: float) -> None:
    peak = peak_memory() / 2**20
    print(f"| {text} | {seconds:.2f} | {cpu:.2f} | {peak:,.0f} |", flush=True)
    clear_peak()


def timed(text: str, work: Callable[[], Any]) -> Any:
    start, cpu = time.perf_counter(), time.process_time()
    made = work()
    line(text, time.perf_counter() - start, time.process_time() - cpu)
    return made


def table(title: str) -> None:
    print(f"\n{title}\n\n| stage | seconds | CPU seconds | peak MiB |\n|---|---|---|---|")
    clear_peak()


def trained(users: int, items: int, ratings: int) -> tuple[ItemModel, float]:
    """The model, and the peak of its training."""
    table(f"{ratings:,} ratings of {users:,} users; ALS(rank={RANK}, steps={STEPS})")
    rows = made_on_the_fly(users, items, ratings)
    found = timed(
        "read and sort", lambda: tacit.read(rows, items=range(items), scale=(1, 5), stream=True)
    )
    solver = tacit.ALS(rank=RANK, steps=STEPS)
    start, cpu = time.perf_counter(), time.process_time()
    model = tacit.fit(found, solver, epsilon=100.0).model
    peak = peak_memory()
    line("train", time.perf_counter() - start, time.process_time() - cpu)
    return model, peak


def compared(fold: FoldIn, known: Known, index: NearestItems) -> float:
    """Of the best items the share that the index finds."""
    every = Ranker.of(fold)
    one = [known.rows(n, n + 1) for n in range(ALONE)]
    timed("first look at the model", lambda: index.rank(fold, one[0], N, "keep"))
    near, _ = timed(f"{ASKED} users, by the index", lambda: index.rank(fold, known, N, "keep"))
    best, _ = timed(f"{ASKED} users, of all", lambda: rank(fold, every, known, N, "keep"))
    for text, work in (
        ("by the index", lambda each: index.rank(fold, each, N, "keep")),
        ("of all", lambda each: rank(fold, every, each, N, "keep")),
    ):
        timed(f"{ALONE} users one by one, {text}", lambda work=work: [work(each) for each in one])
    found = np.array([np.isin(a, b) for a, b in zip(best, near, strict=True)])
    in_graph = ~np.isin(best, equally_long(fold)[2])
    of_graph = float(found[in_graph].mean()) if in_graph.any() else 1.0
    print(
        f"\nrecall {found.mean():.4f}; {100 * in_graph.mean():.0f}% of the best items are in the "
        f"graph, and {of_graph:.4f} of these are found"
    )
    return float(found.mean())


def main(users: int, items: int, ratings: int) -> bool:
    print(describe(2))
    print(f"items      {items:,}; {ASKED} users ask for their {N} best")
    model, peak = trained(users, items, ratings)
    with tempfile.TemporaryDirectory() as folder:
        timed("make and write the index", lambda: model.export_index(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        index = timed("open the index", lambda: NearestItems.load(folder))
    first = compared(model.folding, asking(users, items, ratings), index)
    print(f"the index takes {size / 2**20:,.0f} MiB on disk")
    table("factors that are drawn, in which the best items differ from user to user")
    fold, known = drawn(items)
    second = compared(fold, known, timed("make the index", lambda: NearestItems.of(fold)))
    print()
    results = [
        verdict(f"training within 6 GiB: {peak / 2**30:.2f} GiB", reached=peak <= MOST_MEMORY)
    ]
    for what, recall in (("of the trained model", first), ("with factors that are drawn", second)):
        told = f"recall at least {LEAST_RECALL}, {what}: {recall:.4f}"
        results.append(verdict(told, reached=recall >= LEAST_RECALL))
    return all(results)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    asked = parser.parse_args()
    sys.exit(not main(asked.users, asked.items, asked.ratings))
