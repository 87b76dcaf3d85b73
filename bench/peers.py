# SPDX-License-Identifier: Apache-2.0
"""Seconds of a training step beside the iterations of implicit and LensKit, two threads.

    python bench/peers.py [--peers PYTHON]

One private step is what `ALS` does between two releases: every user solves exactly, sums are added
up, noise is drawn, items follow. It is read off the clock at which releases are reported. A peer's
iteration goes over users and items once. All take turns in one run; peers live in an environment of
their own (`make bench-peers` makes it) and in processes of their own.

Then a whole private training, from a Parquet file to a saved model, in a process of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import tacit
from machine import ROOT, describe
from steps import step_seconds
from tacit.datasets import movielens_like
from tacit.kernels import isa

if TYPE_CHECKING:
    from tacit.data.block import UserBlock
    from tacit.data.ratings import Ratings

THREADS = 2
TURNS = 3
STEPS = 3
LONGEST, LARGEST = 10.0, 1.5  # seconds and GiB of the whole training


class Ours(NamedTuple):
    """A training of ours whose steps are timed."""

    gram: str
    epsilon: float
    rank: int

    def __str__(self) -> str:
        kind = "not private" if math.isinf(self.epsilon) else "private"
        return f"{self.gram} Gram, {kind}, rank {self.rank}"


class Theirs(NamedTuple):
    peer: str
    variant: str
    rank: int

    def __str__(self) -> str:
        return f"{self.peer} {self.variant}, rank {self.rank}"


# At most `most` times as long as the peer; `goal` is what we are after.
class Rule(NamedTuple):
    ours: Ours
    theirs: Theirs
    most: float
    goal: float = math.nan


RULES = (
    Rule(Ours("shared", 1, 64), Theirs("implicit", "cg", 64), 1.0, 0.5),
    Rule(Ours("shared", 1, 128), Theirs("implicit", "cg", 128), 1.0, 0.5),
    Rule(Ours("shared", 1, 128), Theirs("implicit", "exact", 128), 1 / 8),
    Rule(Ours("per-item", 1, 128), Theirs("implicit", "exact", 128), 1 / 3),
    Rule(Ours("per-item", math.inf, 128), Theirs("implicit", "exact", 128), 1 / 3),
    Rule(Ours("per-item", math.inf, 128), Theirs("lenskit", "exact", 128), 1 / 2),
)


class Peer:
    """A child that answers with seconds; see bench/peer_iteration.py."""

    def __init__(self, python: str, name: str, data: Path) -> None:
        script = ROOT / "bench" / "peer_iteration.py"
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(THREADS)}
        self._child = subprocess.Popen(
            [python, str(script), name, str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.version = self._read()

    def seconds(self, variant: str, rank: int) -> float:
        self._child.stdin.write(f"{variant} {rank}\n")
        self._child.stdin.flush()
        return float(self._read() or "nan")

    def close(self) -> None:
        self._child.stdin.close()
        self._child.wait()

    def _read(self) -> str:
        return self._child.stdout.readline().strip()


def measured(ratings: Ratings, peers: dict[str, Peer], turns: int) -> dict[Ours | Theirs, float]:
    """The best seconds of each, in turns."""
    best: dict[Ours | Theirs, float] = {}
    theirs = {rule.theirs: rule.ours for rule in RULES}
    for turn in range(turns):
        for each in dict.fromkeys([*(rule.ours for rule in RULES), *theirs]):
            if isinstance(each, Ours):
                solver = tacit.ALS(rank=each.rank, steps=STEPS, gram=each.gram)
                seconds = step_seconds(ratings, solver, each.epsilon)
            elif each.peer not in peers or (turn > 1 and each.variant == "exact"):
                continue
            else:
                seconds = peers[each.peer].seconds(each.variant, each.rank)
            best[each] = min(best.get(each, math.inf), seconds)
    return best


def show(best: dict[Ours | Theirs, float]) -> bool:
    """Print the table; is a required ratio missed?"""
    missed = False
    print(f"{'ours':36s} {'s':>6s}   {'peer':22s} {'s':>6s}  ratio  required  goal")
    for rule in RULES:
        if rule.theirs not in best:
            missed = True
            print(f"{rule.ours!s:36s} {best[rule.ours]:6.3f}   {rule.theirs!s:22s} absent")
            continue
        ours, theirs = best[rule.ours], best[rule.theirs]
        missed |= not ours / theirs <= rule.most
        goal = "" if math.isnan(rule.goal) else f"{rule.goal:.2f}"
        print(
            f"{rule.ours!s:36s} {ours:6.3f}   {rule.theirs!s:22s} {theirs:6.3f} "
            f"{ours / theirs:6.2f} {rule.most:9.3f} {goal:>5s}"
        )
    return missed


# The peak is the process's own: ru_maxrss would start from that of who started it.
WHOLE = """
import pathlib, re, sys, time
start = time.perf_counter()
import tacit
ratings = tacit.read(sys.argv[1], scale=(0.5, 5), items=range(int(sys.argv[3])))
fit = tacit.fit(ratings, tacit.ALS(rank=32, steps=4), epsilon=1.0, threads=2)
fit.model.save(sys.argv[2])
seconds = time.perf_counter() - start
status = pathlib.Path("/proc/self/status").read_text()
print(seconds, int(re.search(r"VmHWM:\\s+([0-9]+)", status)[1]) / 2**20)
"""


def whole_training(block: UserBlock, folder: Path, turns: int) -> tuple[float, float]:
    """Seconds and GiB from a Parquet file to a saved model, interpreter and imports included."""
    rows = folder / "ratings.parquet"
    columns = {"user": block.user_of_rating(), "item": block.items, "rating": block.values}
    parquet.write_table(pa.table(columns), rows)
    command = [sys.executable, "-c", WHOLE, str(rows), str(folder / "model"), str(block.n_items)]
    runs = []
    for _ in range(turns):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append([float(number) for number in done.stdout.split()])
    seconds, peak = np.min(runs, axis=0)
    return float(seconds), float(peak)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=".venv-peers/bin/python", help="Python with the peers")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    python, turns = options.peers, options.turns
    print(describe(THREADS))
    ratings = movielens_like()
    block = ratings.block
    print(f"kernel     {isa()}")
    print(f"data       {block.n_users} users x {block.n_items} items, movielens_like() defaults")
    with tempfile.TemporaryDirectory(prefix="tacit-peers-") as place:
        folder = Path(place)
        data = folder / "ratings.npz"
        values = {"indptr": block.indptr, "items": block.items, "values": block.values}
        np.savez(data, n_items=block.n_items, **values)
        there = Path(python).exists()
        peers = {n: Peer(python, n, data) for n in ("implicit", "lenskit") if there}
        print(f"peers      {', '.join(peer.version for peer in peers.values()) or 'none'}")
        print(f"repeats    best of {turns} turns (exact peers: 2) of {STEPS - 1} steps of ours\n")
        missed = show(measured(ratings, peers, turns))
        for peer in peers.values():
            peer.close()
        seconds, peak = whole_training(block, folder, turns)
    print(
        f"\nwhole private training, rank 32, 4 steps, Parquet to saved model: {seconds:.1f} s "
        f"(required: under {LONGEST:g}), peak {peak:.2f} GiB (required: under {LARGEST:g})"
    )
    missed |= not (seconds < LONGEST and peak < LARGEST)
    print("\nMISSED" if missed else "\nall required figures reached")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
