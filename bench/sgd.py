# SPDX-License-Identifier: Apache-2.0
"""Ratings a second of stochastic gradient descent beside LIBMF, two threads.

    python bench/sgd.py [--peers PYTHON] > bench/results/sgd.txt

LIBMF is the package of that name, compiled by `make bench-peers` with the flags printed below. It
tells no times, so an epoch of it is the difference between a training of many epochs and one of a
single epoch. An epoch of ours is a whole run of one, noise included where it is SGLD. All take
turns in one run, and the best of each counts. A few minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from machine import ROOT, describe
from peers import Peer
from tacit.datasets import movielens_like
from tacit.descent import Descent, State, in_memory, stored
from tacit.descent.chunks import Survey
from tacit.kernels import isa
from tacit.mechanisms.entropy import NoiseSource

if TYPE_CHECKING:
    from tacit.data.block import UserBlock
    from tacit.descent.chunks import Chunks

THREADS = 2
TURNS = 4
RANKS = (64, 256, 1024)
LONG, SHORT = 5, 1  # epochs of LIBMF
RATE, DECAY, RIDGE, TEMPERATURE = 0.05, 0.5, 0.07, 0.1
SGLD_RANK = 256
OURS = "lock-free"

# What is divided by what, at which ranks, the least that is required, and the goal.
RULES = (
    ("lock-free", "LIBMF", RANKS, 1.0, 1.5),
    ("deterministic", "lock-free", RANKS, 0.5, math.nan),
    ("from Parquet", "lock-free", RANKS, 0.7, math.nan),
    ("SGLD", "lock-free", (SGLD_RANK,), 1 / 3, math.nan),
)


def arranged(block: UserBlock, folder: Path) -> dict[str, Chunks]:
    """The same ratings as each way of going through them wants them."""
    scaled = block.with_values(((block.values - 2.75) / 1.125).astype(np.float32))
    survey = Survey.of([scaled], block.n_items)
    shared = in_memory([scaled], survey, "lock-free")
    return {
        "lock-free": shared,
        "deterministic": in_memory([scaled], survey, "deterministic"),
        "from Parquet": stored(folder, [scaled], survey, "lock-free"),
        "SGLD": shared,
    }


def our_seconds(way: str, chunks: Chunks, state: State) -> float:
    """One epoch."""
    descent = Descent(1, RATE, DECAY, RIDGE, TEMPERATURE if way == "SGLD" else 0.0)
    if way == "SGLD":  # clocks count variance from the beginning of a training
        state.user_clock[:] = state.item_clock[:] = 0
    start = time.perf_counter()
    descent.run(chunks, state, threads=THREADS, source=NoiseSource())
    return time.perf_counter() - start


def state_of(ways: dict[str, Chunks], block: UserBlock, rank: int) -> State:
    """Room for the rows of every way."""
    return State.first(block.n_users, max(each.numbering.rows for each in ways.values()), rank, 0)


def rates(ways: dict[str, Chunks], state: State, peer: Peer | None, turns: int) -> dict[str, float]:
    """Million ratings a second of each way, and of LIBMF."""
    best: dict[str, float] = {}
    for _ in range(turns):
        for way, chunks in ways.items():
            if way != "SGLD" or state.rank == SGLD_RANK:
                best[way] = min(best.get(way, math.inf), our_seconds(way, chunks, state))
        for epochs in (LONG, SHORT) if peer else ():
            took = peer.seconds(f"epochs-{epochs}", state.rank)
            best[str(epochs)] = min(best.get(str(epochs), math.inf), took)
    if peer:
        best["LIBMF"] = (best.pop(str(LONG)) - best.pop(str(SHORT))) / (LONG - SHORT)
    ratings = sum(len(chunk.items) for chunk in ways[OURS].stream(0, len(ways[OURS])))
    return {way: ratings / seconds / 1e6 for way, seconds in best.items()}


def show(found: dict[int, dict[str, float]]) -> bool:
    """Print rates and ratios; is a required one missed?"""
    names = ["LIBMF", "lock-free", "deterministic", "from Parquet", "SGLD"]
    print("million ratings a second")
    print(f"{'rank':>6s} " + " ".join(f"{name:>14s}" for name in names))
    for rank, of in found.items():
        print(f"{rank:6d} " + " ".join(f"{of[n]:14.1f}" if n in of else f"{'':14s}" for n in names))
    print(f"\n{'':32s} {'rank':>6s} {'ratio':>7s} {'required':>9s} {'goal':>5s}")
    missed = False
    for ours, theirs, ranks, least, goal in RULES:
        for rank in ranks:
            what = f"{ours} / {theirs}"
            if theirs not in found[rank]:
                missed = True
                print(f"{what:32s} {rank:6d}  absent")
                continue
            ratio = found[rank][ours] / found[rank][theirs]
            missed |= not ratio >= least
            wish = "" if math.isnan(goal) else f"{goal:.1f}"
            print(f"{what:32s} {rank:6d} {ratio:7.2f} {least:9.2f} {wish:>5s}")
    return missed


def flags() -> str:
    """With which LIBMF is compiled: a line of the Makefile."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    return next(line.partition(":=")[2].strip() for line in lines if line.startswith("LIBMF_FLAGS"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=".venv-peers/bin/python", help="Python with LIBMF")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    python, turns = options.peers, options.turns
    print(describe(THREADS))
    block = movielens_like().block
    print(f"kernel     {isa()}")
    print(f"data       {block.n_users} users x {block.n_items} items, movielens_like() defaults")
    found = {}
    with tempfile.TemporaryDirectory(prefix="tacit-sgd-") as place:
        folder = Path(place)
        values = {"indptr": block.indptr, "items": block.items, "values": block.values}
        np.savez(folder / "ratings.npz", n_items=block.n_items, **values)
        ways = arranged(block, folder / "chunks")
        for rank in RANKS:
            there = Path(python).exists()  # a child for each rank: LIBMF keeps what it made
            peer = Peer(python, "libmf", folder / "ratings.npz") if there else None
            if rank == RANKS[0]:
                print(f"peer       {f'{peer.version}, {flags()}' if peer else 'none'}")
                print(f"repeats    best of {turns}, in turns\n", flush=True)
            found[rank] = rates(ways, state_of(ways, block, rank), peer, turns)
            if peer:
                peer.close()
    missed = show(found)
    print("\nMISSED" if missed else "\nall required ratios reached")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
