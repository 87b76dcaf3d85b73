# SPDX-License-Identifier: Apache-2.0
"""How fast a private training on Spark is beside Spark's own ALS, which is not private.

Both get the same rows in the same session, as many factors and as many iterations. One iteration of
ours is one step (a noisy sum, then all items solve), one of Spark's is a solve of all users and
one of all items. Starting Spark and reading are reported apart, as is a first, unmeasured step
of either that warms workers and compiler up. Times are wall-clock and processor seconds of all
processes together: this one, Java and the Python workers. A sum with a Gram matrix for each item
follows, shard by shard and at once: what a task saves and what it pays for that. Takes about three
minutes on a quiet machine.

    python bench/spark.py > bench/results/spark.txt
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import tacit
from machine import describe
from tacit.contributions import ItemCounts, LeastSquares, Rows, UserFactors
from tacit.data.spark_session import session
from tacit.engines.shards import Sizes
from tacit.engines.spark import SparkEngine
from tacit.folding import FoldIn
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET = Budget(20.0, 1e-6)
OFFSET_STEPS = 5


def fields_of(process: Path) -> list[str]:
    """What /proc says of a process, from its state on; nothing once it has ended."""
    return content(process / "stat").decode(errors="replace").rpartition(")")[2].split()


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended
        return b""


def processes() -> list[Path]:
    """This one, Java and its workers: all that descend from here."""
    found = {path: fields_of(path) for path in Path("/proc").glob("[0-9]*")}
    ours = {Path("/proc") / str(os.getpid())}
    while more := {p for p, f in found.items() if f and Path("/proc") / f[1] in ours} - ours:
        ours |= more
    return sorted(ours)


def processor_seconds() -> float:
    """Of all these processes, dead ones included."""
    ticks = sum(sum(map(int, fields_of(each)[11:15])) for each in processes())
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, processor seconds and the result."""
    start, cpu = time.perf_counter(), processor_seconds()
    made = work()
    return time.perf_counter() - start, processor_seconds() - cpu, made


def write(path: Path, ratings: int) -> None:
    """The rows, users' ids as integers; whole files, as a table on a cluster would be."""
    block = tacit.datasets.movielens_like(ratings=ratings).block
    columns = (block.user_of_rating().astype("int32"), block.items, block.values)
    path.mkdir()
    table = pa.table(dict(zip(("user", "item", "rating"), columns, strict=True)))
    half = len(table) // 2
    parquet.write_table(table.slice(0, half), path / "1.parquet")
    parquet.write_table(table.slice(half), path / "2.parquet")


def ours(ratings: Any, rank: int, steps: int) -> Callable[[], Any]:
    solver = tacit.ALS(rank=rank, steps=steps)
    return lambda: train(ratings, solver, BUDGET, Execution())


def theirs(frame: Any, rank: int, iterations: int) -> Callable[[], Any]:
    from pyspark.ml.recommendation import ALS  # noqa: PLC0415 (after the session)

    als = ALS(rank=rank, maxIter=iterations, userCol="user", itemCol="item", ratingCol="rating")
    cores = frame.sparkSession.sparkContext.defaultParallelism
    als = als.setNumBlocks(cores).setCheckpointInterval(-1)

    def fit() -> Any:
        model = als.fit(frame)
        model.itemFactors.count()
        return model

    return fit


def workers() -> list[Path]:
    """Python processes of executors."""
    return [each for each in processes() if b"pyspark.daemon" in content(each / "cmdline")]


def peak_mebibytes(work: Callable[[], Any]) -> tuple[float, float, float]:
    """Seconds, processor seconds and the most memory that one worker had meanwhile."""
    for worker in workers():
        (worker / "clear_refs").write_text("5")  # forgets the peak so far
    seconds, cpu, _ = timed(work)
    peaks = [re.search(rb"VmHWM:\s+(\d+)", content(worker / "status")) for worker in workers()]
    return seconds, cpu, max(int(peak[1]) for peak in peaks if peak) / 1024


def item_grams(ratings: Any, rank: int) -> None:
    """Print one sum with a Gram matrix for each item, in both ways."""
    V = np.random.default_rng(0).normal(0, 0.3, (ratings.n_items, rank)).astype(np.float32)
    sums = LeastSquares(Rows(4.5), UserFactors(FoldIn(V), 3.0))
    counts = ItemCounts(ratings.n_items, Rows())
    mebibytes = sum(part.size for part in sums.parts) * 8 / 2**20
    print(f"\na Gram matrix for each item, rank {rank}: {mebibytes:.0f} MiB of sums\n")
    print("| a task adds up | seconds | CPU seconds | peak of a worker, MiB |\n|---|---|---|---|")
    for name, asked, sizes in (
        ("counts only", counts, Sizes()),
        ("one shard after the other", sums, Sizes()),
        ("everything at once", sums, Sizes(shard=1 << 40)),
    ):
        engine = SparkEngine(ratings.rows, sizes=sizes)
        seconds, cpu, peak = peak_mebibytes(lambda engine=engine, asked=asked: engine.total(asked))
        print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} |", flush=True)


def line(name: str, seconds: float, cpu: float) -> None:
    print(f"| {name} | {seconds:.1f} | {cpu:.1f} |", flush=True)


def compare(ratings: Any, frame: Any, ranks: list[int], iterations: int) -> bool:
    """Print both at each rank; whether ours is 4 times as fast everywhere."""
    reached = True
    print("\n| rank | iterations | private, tacit s (CPU s) | Spark MLlib ALS s (CPU s) | ratio |")
    print("|---|---|---|---|---|")
    for rank in ranks:
        mine = timed(ours(ratings, rank, iterations))
        other = timed(theirs(frame, rank, iterations))
        ratio = other[0] / mine[0]
        reached &= ratio >= 4
        cells = [f"{s:.1f} ({cpu:.1f})" for s, cpu, _ in (mine, other)]
        print(f"| {rank} | {iterations} | {cells[0]} | {cells[1]} | {ratio:.1f} |", flush=True)
    return reached


def main(ratings: int, ranks: list[int], iterations: int, master: str) -> bool:
    """Whether the figure is reached."""
    warnings.simplefilter("ignore")
    print(describe(2))
    print(f"master     {master}; ratings {ratings:,}; one run of each, after a warm one of both")
    print(
        f"\nours also releases item offsets first, {OFFSET_STEPS} steps, which its time includes\n"
    )
    print("| stage | seconds | CPU seconds |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings"
        write(path, ratings)
        settings = {"spark.driver.memory": "6g", "spark.io.encryption.enabled": "false"}
        started = session(master, settings)
        seconds, cpu, spark = timed(started.__enter__)
        line("start Spark", seconds, cpu)
        try:
            frame = spark.read.parquet(str(path))
            seconds, cpu, found = timed(lambda: tacit.read(frame, scale=(0.5, 5)))
            line("read, check, group and encode", seconds, cpu)
            cached = frame.persist()
            seconds, cpu, _ = timed(cached.count)
            line("cache the same rows for MLlib", seconds, cpu)
            line("a first run of ours", *timed(ours(found, 8, 1))[:2])
            line("a first run of MLlib", *timed(theirs(cached, 8, 1))[:2])
            reached = compare(found, cached, ranks, iterations)
            cached.unpersist()
            item_grams(found, max(ranks))
        finally:
            started.__exit__(None, None, None)
    print(f"\nat least 4 times as fast: {'reached' if reached else 'MISSED'}")
    return reached


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=8_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    sys.exit(not main(asked.ratings, asked.ranks, asked.iterations, asked.master))
