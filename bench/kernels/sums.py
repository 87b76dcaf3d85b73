# SPDX-License-Identifier: Apache-2.0
"""Time of the integer sums over eight million ratings, on one and on two threads.

    python bench/kernels/sums.py [--ratings 8000000] [--block 262144] [--repeats 3] [--only gram]

An operation is one integer multiplication or one addition of the definition: work on the wasted
half of diagonal tiles does not count. Bytes are those that any program must move: the block's
arrays once, and for sums per item the whole output read and written once per block. Times are the
best of the repeats: "wall" as the clock has it, "cpu" the processor time of all threads together.
On a machine that others use too the clock says little, so the rates are per second of "cpu": what
one thread does while it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from machine import describe
from tacit import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N_ITEMS, N_USERS = 10_677, 69_878  # the sizes of MovieLens 10M
RANKS = (32, 64, 128)


@dataclass(frozen=True)
class Block:
    indptr: np.ndarray
    items: np.ndarray
    amounts: np.ndarray
    values: np.ndarray
    users: slice

    @property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.indptr, self.items, self.amounts

    @property
    def pairs(self) -> int:
        lengths = np.diff(self.indptr)
        return int(np.sum(lengths * (lengths + 1) // 2))


@dataclass(frozen=True)
class Case:
    """One line of the output."""

    name: str
    call: Callable[[Block, np.ndarray], object]
    shape: tuple[int, ...]
    operations: int
    moved: int


def make_blocks(ratings: int, per_block: int) -> list[Block]:
    """Long-tailed users and items: lognormal row lengths, Zipf-like popularity."""
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(4.2, 1.1, N_USERS), 20, 7_000)
    lengths = np.maximum(lengths * ratings / lengths.sum(), 1).astype(np.int64)
    log_popularity = -np.log(np.arange(N_ITEMS) + 60.0)[rng.permutation(N_ITEMS)]
    rows = []
    for length in lengths:  # the highest of popularity plus Gumbel noise: no item twice
        score = log_popularity + rng.gumbel(size=N_ITEMS).astype(np.float32)
        rows.append(np.sort(np.argpartition(score, -length)[-length:]).astype(np.int32))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    items = np.concatenate(rows)
    amounts = rng.integers(-1000, 1001, len(items)).astype(np.int32)
    values = rng.normal(size=len(items)).astype(np.float32)
    blocks, start = [], 0
    while start < N_USERS:
        stop = int(np.searchsorted(indptr, indptr[start] + per_block, side="right")) - 1
        stop = min(max(stop, start + 1), N_USERS)
        where = slice(indptr[start], indptr[stop])
        own = (indptr[start : stop + 1] - indptr[start], items[where], amounts[where])
        blocks.append(Block(*own, values[where], slice(start, stop)))
        start = stop
    return blocks


def best(case: Case, blocks: list[Block], threads: int, repeats: int) -> tuple[float, float]:
    """Wall and processor seconds for all blocks, each thread with its own output."""
    outs = [np.zeros(case.shape, np.int64) for _ in range(threads)]

    def work(thread: int) -> float:
        began = time.thread_time()
        for block in blocks[thread::threads]:
            case.call(block, outs[thread])
        return time.thread_time() - began

    wall, cpu = [], []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats + 1):  # the first run touches the memory and does not count
            began = time.perf_counter()
            cpu.append(sum(pool.map(work, range(threads))))
            wall.append(time.perf_counter() - began)
    return min(wall[1:]), min(cpu[1:])


def row_kernels(blocks: list[Block]) -> Iterator[Case]:
    """The kernels that know no rank."""
    n = sum(len(block.items) for block in blocks)
    pairs = sum(block.pairs for block in blocks)
    triangle = N_ITEMS * (N_ITEMS + 1) // 2
    step = 2.0**-12
    yield Case(
        "snap_rows, all too long",
        lambda b, _: kernels.snap_rows(b.values, b.indptr, step, 2**12),
        (0,),
        0,
        8 * n,
    )
    yield Case(
        "snap_rows, all inside",
        lambda b, _: kernels.snap_rows(b.values, b.indptr, step, 2**20),
        (0,),
        0,
        8 * n,
    )
    yield Case("sum_rows", lambda b, _: kernels.sum_rows(b.values, b.indptr), (0,), n, 4 * n)
    yield Case("hash_rows", lambda b, _: kernels.hash_rows(b.indptr, b.items, 1), (0,), 0, 12 * n)
    yield Case(
        "hash_rows + keep_smallest 50",
        lambda b, _: kernels.keep_smallest(b.indptr, kernels.hash_rows(b.indptr, b.items, 1), 50),
        (0,),
        0,
        13 * n,
    )
    yield Case(
        "scatter_sum",
        lambda b, out: kernels.scatter_sum(b.items, b.amounts, out),
        (N_ITEMS,),
        n,
        8 * n,
    )
    yield Case(
        "scatter_pairs",
        lambda b, out: kernels.scatter_pairs(*b.csr, out),
        (triangle,),
        2 * pairs,
        8 * n + 16 * triangle * len(blocks),
    )


def rank_kernels(blocks: list[Block], rank: int) -> Iterator[Case]:
    """The kernels on user factors."""
    n, triangle = sum(len(block.items) for block in blocks), rank * (rank + 1) // 2
    rng = np.random.default_rng(rank)
    rows = np.rint(rng.normal(size=(N_USERS, rank)) * 2**12 / rank**0.5).astype(np.int32)
    ones = np.ones(N_USERS, np.int32)
    yield Case(
        f"scatter_outer, rank {rank}",
        lambda b, out: kernels.scatter_outer(*b.csr, rows[b.users], out),
        (N_ITEMS, rank),
        2 * n * rank,
        8 * n + rows.nbytes + 16 * N_ITEMS * rank * len(blocks),
    )
    yield Case(
        f"gram, rank {rank}",
        lambda b, out: kernels.gram(rows[b.users], ones[b.users], out),
        (triangle,),
        2 * N_USERS * triangle,
        rows.nbytes,
    )
    yield Case(
        f"scatter_gram, rank {rank}",
        lambda b, out: kernels.scatter_gram(*b.csr, rows[b.users], out),
        (N_ITEMS, triangle),
        2 * n * triangle,
        8 * n + rows.nbytes + 16 * N_ITEMS * triangle * len(blocks),
    )


def dgemm(repeats: int) -> float:
    """Gop/s of NumPy's own float64 matrix product on one thread, to compare with."""
    a = np.random.default_rng(0).random((1200, 1200))
    seconds = []
    for _ in range(repeats + 1):
        began = time.thread_time()
        a @ a
        seconds.append(time.thread_time() - began)
    return 2 * len(a) ** 3 / min(seconds) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", type=int, default=8_000_000)
    parser.add_argument("--block", type=int, default=2**18)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="kernels with this in their name")
    options = parser.parse_args()
    blocks = make_blocks(options.ratings, options.block)
    n = sum(len(block.items) for block in blocks)
    print(describe(2))
    print(f"kernel     {kernels.isa()}")
    print(f"{n} ratings of {N_USERS} users and {N_ITEMS} items in {len(blocks)} blocks")
    print(f"best of {options.repeats}; float64 matrix product of NumPy, one thread:", end=" ")
    print(f"{dgemm(options.repeats):.0f} Gop/s")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    print(f"{'kernel':30} {'threads':>7} {'wall':>8} {'cpu':>8} {'ns/rating':>9}", end=" ")
    print(f"{'Gop/s':>7} {'GB/s':>6}")
    todo = [*row_kernels(blocks), *(k for rank in RANKS for k in rank_kernels(blocks, rank))]
    for case in todo:
        if options.only not in case.name:
            continue
        for threads in (1, 2):
            wall, cpu = best(case, blocks, threads, options.repeats)
            rate = f"{case.operations / cpu / 1e9:7.2f}" if case.operations else "      -"
            row = f"{case.name:30} {threads:7} {wall:8.3f} {cpu:8.3f} {cpu / n * 1e9:9.2f}"
            print(f"{row} {rate} {case.moved / cpu / 1e9:6.1f}", flush=True)


if __name__ == "__main__":
    main()
