# SPDX-License-Identifier: Apache-2.0
"""A million items: training with one shared Gram matrix, and an index that finds the best items.

Ratings are made up; rows stay on disk. The index is asked for the ten best items of users, which
ranking all items finds as well: recall is the share that both have. About 4 minutes.

    python bench/catalogue.py > bench/results/catalogue.txt
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tacit
from machine import describe
from scale_run import clear_peak, made_on_the_fly, peak_memory
from tacit.datasets import netflix_blocks
from tacit.serving.known import Known
from tacit.serving.nearest import NearestItems
from tacit.serving.rank import Ranker, rank

RANK, STEPS, ASKED, N = 64, 4, 400, 10
MOST_MEMORY, LEAST_RECALL = 6 * 2**30, 0.95


def asking(users: int, items: int, ratings: int) -> Known:
    """The histories of some users."""
    block = next(netflix_blocks(users, items, ratings)).rows(0, ASKED)
    return Known(block.indptr, block.items, block.values, np.arange(ASKED))


def line(text: str, seconds: float, cpu: float) -> None:
    peak = peak_memory() / 2**20
    print(f"| {text} | {seconds:.2f} | {cpu:.2f} | {peak:,.0f} |", flush=True)
    clear_peak()


def timed(text: str, work: object) -> object:
    start, cpu = time.perf_counter(), time.process_time()
    made = work()
    line(text, time.perf_counter() - start, time.process_time() - cpu)
    return made


def main(users: int, items: int, ratings: int) -> bool:
    print(describe(2))
    print(
        f"ratings    {ratings:,} of {users:,} users and {items:,} items; ALS(rank={RANK}, ", end=""
    )
    print(f"steps={STEPS})\n\n| stage | seconds | CPU seconds | peak MiB |\n|---|---|---|---|")
    clear_peak()
    rows = made_on_the_fly(users, items, ratings)
    found = timed(
        "read and sort", lambda: tacit.read(rows, items=range(items), scale=(1, 5), stream=True)
    )
    solver = tacit.ALS(rank=RANK, steps=STEPS)
    start, cpu = time.perf_counter(), time.process_time()
    model = tacit.fit(found, solver, epsilon=100.0).model
    peak = peak_memory()
    line("train", time.perf_counter() - start, time.process_time() - cpu)
    known, fold = asking(users, items, ratings), model.folding
    with tempfile.TemporaryDirectory() as folder:
        timed("make and write the index", lambda: model.export_index(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        index = timed("open the index", lambda: NearestItems.load(folder))
        near, _ = timed(
            f"{N} best by the index, {ASKED} users", lambda: index.rank(fold, known, N, "keep")
        )
    exact, _ = timed(
        f"{N} best of all, the same", lambda: rank(fold, Ranker.of(fold), known, N, "keep")
    )
    recall = np.mean([len(set(a) & set(b)) / N for a, b in zip(near, exact, strict=True)])
    print(f"\nthe index takes {size / 2**20:,.0f} MiB on disk")
    good = peak <= MOST_MEMORY and recall >= LEAST_RECALL
    print(f"training within 6 GiB: {peak / 2**30:.2f} GiB; recall at least 0.95: {recall:.4f}")
    print("reached" if good else "MISSED")
    return bool(good)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    asked = parser.parse_args()
    sys.exit(not main(asked.users, asked.items, asked.ratings))
