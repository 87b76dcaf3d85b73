# SPDX-License-Identifier: Apache-2.0
"""Are 100 million ratings trained on in 2 GiB, whatever their number, as fast as from memory?

Ratings of the shape of the Netflix prize (480,189 users, 17,770 items) are made once, as 20 Parquet
files in no order; 5 and 10 of them are the smaller sizes. Private ALS of rank 64 with 4 steps is
trained from these files to a saved model, with the rows left on disk and with the rows in memory.
Each training has a process of its own; peaks are its resident memory in each stage, and include
whatever it starts. Making the ratings is no part of any time.

    python bench/scale.py > bench/results/scale.txt

The cost model of docs/scale.md gets its rates from runs of up to 10 million ratings and is compared
with four larger ones; what it says of a billion users is at the end. About 5 minutes.

With --billion, a billion ratings of 5 million users are made while they are read, and nothing else
is run (`make nightly-scale`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from machine import describe
from scale_model import Shape, check, describe_rates, fit_rates, forecast, shape_of
from scale_run import made_on_the_fly, run

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_000_000
FILES = {0.25: "part-0000[0-4].parquet", 0.5: "part-0000?.parquet", 1.0: "part-*.parquet"}
SMALL = "part-0000[01].parquet"
RANK, STEPS, REPEATS = 64, 4, 2
MOST_MEMORY, MOST_SPREAD, MOST_SLOWDOWN, GOAL = 2 * 2**30, 0.1, 1.3, 120.0

if TYPE_CHECKING:
    from scale_model import Rates

Run = dict[str, Any]


def in_a_process(*arguments: object) -> Run:
    """What this script measures of itself in a process of its own."""
    command = [sys.executable, __file__, "--child", json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def child(work: str, *arguments: Any) -> Run:
    """In the process of its own."""
    if work == "make":
        return made(*arguments)
    if work == "billion":
        return run(made_on_the_fly(*arguments[:3]), *arguments[3:])
    return run(*arguments)


def made(folder: str, users: int, items: int, ratings: int) -> Run:
    """Write the ratings; how long it took."""
    from tacit.datasets import netflix_blocks, write_parquet  # noqa: PLC0415 (in this process)

    start = time.perf_counter()
    blocks = netflix_blocks(users, items, ratings)
    paths = write_parquet(blocks, folder, files=20)
    size = sum(path.stat().st_size for path in paths)
    return {"seconds": time.perf_counter() - start, "bytes": size}


def show(title: str, found: Run) -> None:
    """A table of the stages of one training."""
    ratings = found["ratings"]
    print(f"\n{title}: {found['seconds']:.1f} s, peak {found['peak'] / 2**20:,.0f} MiB, ", end="")
    print(f"{found['disk'] / 2**30:.1f} GiB of temporary files at most\n")
    print("| stage | times | seconds | CPU seconds | million ratings/s | peak MiB |")
    print("|---|---|---|---|---|---|")
    for name, stage in found["stages"].items():
        speed = ratings * stage["times"] / stage["seconds"] / 1e6
        seconds = (f"{stage[kind]:.1f}" for kind in ("seconds", "cpu"))
        cells = (name, stage["times"], *seconds, f"{speed:,.1f}")
        print(f"| {' | '.join(map(str, cells))} | {stage['peak'] / 2**20:,.0f} |")
    sys.stdout.flush()


def verdict(text: str, *, reached: bool) -> bool:
    print(f"{'reached' if reached else 'MISSED '}  {text}")
    return reached


def judged(streamed: dict[float, Run], memory: Run) -> bool:
    """The figures that are asked for."""
    peaks = [each["peak"] for each in streamed.values()]
    whole, half, quarter = (streamed[share] for share in (1.0, 0.5, 0.25))
    seconds = whole["seconds"]
    spread = max(peaks) / min(peaks) - 1
    ratio = seconds / memory["seconds"]
    slopes = [
        (large["seconds"] / small["seconds"]) / (large["ratings"] / small["ratings"])
        for small, large in ((quarter, half), (half, whole))
    ]
    print()
    results = [
        verdict(
            f"peak resident memory at most 2 GiB: {max(peaks) / 2**30:.2f} GiB",
            reached=max(peaks) <= MOST_MEMORY,
        ),
        verdict(
            f"the same within 10% at every size: {100 * spread:.1f}% apart",
            reached=spread <= MOST_SPREAD,
        ),
        verdict(
            f"at most 1.3 times the time with rows in memory: {ratio:.2f} times",
            reached=ratio <= MOST_SLOWDOWN,
        ),
        verdict(
            "time grows no faster than the ratings: times "
            + " and ".join(f"{2 * slope:.2f}" for slope in slopes)
            + " for twice as many",
            reached=max(slopes) <= 1.0,
        ),
    ]
    verdict(f"goal: under 120 s in all: {seconds:.0f} s", reached=seconds < GOAL)
    return all(results)


def calibrated(folder: str, share: float) -> tuple[Rates, Rates]:
    """Rates from 10 million ratings, of all users and of a tenth, and from hardly any.

    In seconds, and in processor seconds of one core.
    """
    users, ratings = round(USERS * share / 10), round(RATINGS * share / 10)
    in_a_process("make", f"{folder}/few", users, ITEMS, ratings)
    in_a_process("make", f"{folder}/tiny", users // 100, ITEMS, ratings // 100)
    found = []
    small = f"rows/{SMALL}"
    for source, rank in ((small, RANK), (small, 16), ("few", RANK), ("tiny", RANK)):
        run = in_a_process("run", f"{folder}/{source}", True, f"{folder}/model", rank, STEPS)
        found.append((shape_of(run, rank, STEPS), run))
    *runs, tiny = found
    return fit_rates(runs, tiny, "seconds"), fit_rates(runs, tiny, "cpu")


def measured(folder: str) -> tuple[dict[float, Run], Run, Run]:
    """Every size on disk; the whole in memory; a quarter at half the rank."""

    def best(pattern: str, rank: int, *, stream: bool) -> Run:
        """The fastest of some runs, with the highest peak of them."""
        arguments = (f"{folder}/rows/{pattern}", stream, f"{folder}/model", rank, STEPS)
        runs = [in_a_process("run", *arguments) for _ in range(REPEATS)]
        fastest: Run = min(runs, key=lambda each: each["seconds"])
        return fastest | {"peak": max(each["peak"] for each in runs)}

    streamed = {}
    for part, pattern in FILES.items():
        streamed[part] = best(pattern, RANK, stream=True)
        show(f"on disk, {streamed[part]['ratings']:,} ratings", streamed[part])
    memory = best(FILES[1.0], RANK, stream=False)
    show(f"in memory, {memory['ratings']:,} ratings", memory)
    half = best(FILES[0.25], RANK // 2, stream=True)
    show(f"on disk, {half['ratings']:,} ratings, rank {RANK // 2}", half)
    return streamed, memory, half


def main(share: float, kept: Path | None) -> bool:
    users, ratings = round(USERS * share), round(RATINGS * share)
    print(describe(2))
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        print(f"ratings    {ratings:,} of {users:,} users and {ITEMS:,} items, ", end="")
        if kept is None:
            made = in_a_process("make", f"{folder}/rows", users, ITEMS, ratings)
            print(f"made in {made['seconds']:.0f} s, {made['bytes'] / 2**30:.2f} GiB of Parquet")
        else:
            Path(folder, "rows").symlink_to(kept.resolve())
            print("made before")
        print(
            f"training   ALS(rank={RANK}, steps={STEPS}) at epsilon 1; best of {REPEATS} runs each"
        )
        rates, cpu = calibrated(folder, share)
        streamed, memory, half = measured(folder)
    good = judged(streamed, memory)
    print(f"\nrates      {describe_rates(rates)}")
    runs = [(shape_of(each, RANK, STEPS), each) for each in streamed.values()]
    good &= check(rates, cpu, [*runs, (shape_of(half, RANK // 2, STEPS), half)])
    print(f"\nof a core  {describe_rates(cpu)}")
    forecast(Shape(5_000_000, ITEMS, 10**9, RANK, STEPS), cpu, executors=1, cores=2)
    forecast(Shape(10**9, 10**7, 10**11, 64, 16), cpu, executors=32, cores=16)
    return good


def billion(users: int, items: int, ratings: int) -> bool:
    """One run whose rows are made while they are read."""
    print(describe(2))
    print(
        f"training   ALS(rank={RANK}, steps={STEPS}) at epsilon 1; rows are made as they are read"
    )
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        arguments = (users, items, ratings, True, f"{folder}/model", RANK, STEPS)
        found = in_a_process("billion", *arguments)
    show(f"on disk, {ratings:,} ratings of {users:,} users and {items:,} items", found)
    print(f"\nof reading, {found['making']:.0f} s went into making the ratings")
    peak = found["peak"]
    return verdict(
        f"peak resident memory at most 2 GiB: {peak / 2**30:.2f} GiB", reached=peak <= MOST_MEMORY
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the users and ratings")
    parser.add_argument("--rows", type=Path, help="a folder that an earlier run has made")
    parser.add_argument("--billion", action="store_true")
    parser.add_argument("--ratings", type=int, default=1_000_000_000, help="of --billion")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(*json.loads(asked.child))))
        sys.exit()
    if asked.billion:
        sys.exit(not billion(asked.ratings // 200, ITEMS, asked.ratings))
    sys.exit(not main(asked.share, asked.rows))
