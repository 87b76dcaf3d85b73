# SPDX-License-Identifier: Apache-2.0
"""How fast SGD and SGLD are (Liu, Wang, Smola, 2015: figures 2, 3, 5 and table 2).

    python bench/papers/sgld_speed.py [--netflix 0.02] [--yahoo 0.01]

On made-up ratings in the shape of the Netflix prize and of Yahoo! Music (the latter with a tenth of
its items): so large a share of their users. Epochs with two threads and with one, for the lock-free
order of the paper and the deterministic one; SGLD draws fresh normals. Rates are the best of
--repeats. Then how the test error falls with seconds, and cache misses under Valgrind's Cachegrind
(Debian: apt install valgrind) for the paper's order and for ratings in random order; the cost of
starting is taken off. About ten minutes on a quiet machine. Also written:
docs/figures/sgld_speed.svg
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from descents import CHANCE, DECAY, RATE, RIDGE, SHAPES, Prepared, descend

from machine import describe
from tacit import kernels
from tacit.descent import Descent, State
from tacit.mechanisms.entropy import NoiseSource

mpl.use("svg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

HERE = Path(__file__).resolve()
RANKS = (16, 256, 512, 1024, 2048)
WATCHED = (16, 128)
EPOCHS = 15  # the paper, on Netflix
CACHED = (16, 256, 2048)  # the ranks of table 2
CACHES = ("--D1=32768,8,64", "--LL=8388608,16,64")
FIGURE = HERE.parents[2] / "docs" / "figures" / "sgld_speed.svg"


# --- throughput ----------------------------------------------------------------------------------


def seconds(data: Prepared, state: State, threads: int, *, sample: bool, repeats: int) -> float:
    """Of one epoch, at best."""
    source = NoiseSource()
    temperature = CHANCE / data.unit**2 if sample else 0.0
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        Descent(1, RATE, DECAY, RIDGE, temperature).run(
            data.chunks, state, threads=threads, source=source
        )
        best = min(best, time.perf_counter() - started)
        state.user_clock[:] = state.item_clock[:] = 0.0
    return best


def throughput(name: str, ratings: Ratings, repeats: int) -> dict[str, list[float]]:
    """Million ratings a second for each way of descending, by rank; printed row by row."""
    free, ordered = (Prepared.of(ratings, order) for order in ("lock-free", "deterministic"))
    ways = [
        (f"{label}, {threads}", data, threads, sample)
        for label, data, sample in (
            ("SGD", free, False),
            ("SGD ordered", ordered, False),
            ("SGLD", free, True),
        )
        for threads in (2, 1)
    ]
    print(f"{name}: {free.n_users} x {ratings.n_items}, {free.n_ratings} ratings; million a second")
    print("   K" + "".join(f"{label:>16s}" for label, *_ in ways) + "   SGLD/SGD   2 threads/1")
    found: dict[str, list[float]] = {label: [] for label, *_ in ways}
    for rank in RANKS:
        state = ordered.state(rank)  # has some rows more, which fill up the last group
        for label, data, threads, sample in ways:
            once = seconds(data, state, threads, sample=sample, repeats=repeats)
            found[label].append(free.n_ratings / once / 1e6)
        now = {label: rates[-1] for label, rates in found.items()}
        print(
            f"{rank:4d}" + "".join(f"{rate:16.2f}" for rate in now.values()) +
            f"{now['SGLD, 2'] / now['SGD, 2']:11.2f}{now['SGD, 2'] / now['SGD, 1']:14.2f}",
            flush=True,
        )  # fmt: skip
    return found


# --- convergence ---------------------------------------------------------------------------------


def convergence(data: Prepared) -> dict[str, tuple[list[float], list[float]]]:
    """Test error against seconds, for SGD and for the mean of SGLD's predictions."""
    print(f"\nnetflix: test RMSE in stars after epochs (seconds), {EPOCHS} epochs")
    found = {}
    for rank in WATCHED:
        for label, sample in (("SGD", False), ("SGLD", True)):
            watch = descend(data, rank, EPOCHS, sample=sample)
            errors = watch.averaged if sample else watch.errors
            found[f"{label} {rank}"] = watch.seconds, errors
            told = "  ".join(
                f"{n}: {errors[n - 1]:.4f} ({watch.seconds[n - 1]:.2f})"
                for n in (1, 2, 5, 10, EPOCHS)
            )
            print(f"K = {rank:3d} {label:5s} {told}", flush=True)
    return found


# --- cache misses --------------------------------------------------------------------------------

COUNTS = re.compile(r"(D1\s+misses|LLd\s+misses):\s+([\d,]+)")


def cached(ratings: Ratings) -> None:
    """Data reads and writes that miss the first and the last level, for each rating."""
    print(f"\nSGD, one thread, AVX2, {' '.join(CACHES)}; cache misses a rating: first, last level")
    if shutil.which("valgrind") is None:
        print("valgrind: absent")
        return
    data = Prepared.of(ratings, "lock-free")
    print(f"{data.n_users} users, {data.n_ratings} ratings, {ratings.n_items} items")
    print("   K        the paper's order              random order")
    with tempfile.TemporaryDirectory() as folder:
        chunk = data.chunks.stream(0, 1).__next__()
        user = np.repeat(chunk.visit_user, np.diff(chunk.visit_ratings))
        mixed = np.random.default_rng(0).permutation(len(user))
        file = Path(folder) / "chunk.npz"
        np.savez(file, user=user, items=chunk.items, values=chunk.values, mixed=mixed)
        for rank in CACHED:
            told = [_misses(file, rank, order) for order in ("tiers", "random")]
            each = [count / data.n_ratings for both in told for count in both]
            print(f"{rank:4d}" + "".join(f"{count:13.2f}" for count in each), flush=True)


def _misses(file: Path, rank: int, order: str) -> tuple[int, int]:
    """Of two epochs, less those of one."""
    few, many = (_counted(file, rank, order, epochs) for epochs in (1, 2))
    return many[0] - few[0], many[1] - few[1]


def _counted(file: Path, rank: int, order: str, epochs: int) -> list[int]:
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
    script = HERE.with_name("sgd_once.py")
    extension = str(import_module("tacit.kernels._kernels").__file__)
    child = [sys.executable, str(script), extension, str(file), str(rank), order, str(epochs)]
    done = subprocess.run(
        [*tool, *CACHES, *child],
        env=os.environ | {"TACIT_ISA": "avx2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(number.replace(",", "")) for _, number in COUNTS.findall(done.stderr)]


# --- all of it -----------------------------------------------------------------------------------


def draw(
    rates: dict[str, dict[str, list[float]]], falls: dict[str, tuple[list[float], list[float]]]
) -> None:
    """Rates against rank for each shape, and errors against seconds."""
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8})
    figure, axes = plt.subplots(1, len(rates) + 1, figsize=(4 * (len(rates) + 1), 3))
    for axis, (name, lines) in zip(axes, rates.items(), strict=False):
        for label, line in lines.items():
            axis.plot(RANKS, line, label=f"{label} threads", linewidth=1)
        axis.set(title=name, xscale="log", yscale="log", xlabel="K", ylabel="million ratings / s")
    for label, (when, errors) in falls.items():
        axes[-1].plot(when, errors, label=label, linewidth=1)
    axes[-1].set(title="netflix", xscale="log", xlabel="seconds", ylabel="test RMSE")
    for axis in axes:
        axis.legend(fontsize=6)
    figure.tight_layout()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netflix", type=float, default=0.02, help="share of its users")
    parser.add_argument("--yahoo", type=float, default=0.01, help="share of its users")
    parser.add_argument("--cached", type=float, default=0.002, help="share under Cachegrind")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(describe(2))
    print(f"kernel     {kernels.isa()}")
    print(f"repeats    best of {options.repeats}\n")
    made = {name: SHAPES[name](getattr(options, name)) for name in ("netflix", "yahoo")}
    rates = {name: throughput(name, ratings, options.repeats) for name, ratings in made.items()}
    print("The paper, 32 virtual processors of 2013: 0.12, 0.19, 0.29 billion rating x dimension a")
    print("second on each at K = 128, 256, 512.")
    falls = convergence(Prepared.of(made["netflix"], "lock-free"))
    cached(SHAPES["netflix"](options.cached))
    draw(rates, falls)
    return 0


if __name__ == "__main__":
    sys.exit(main())
