# SPDX-License-Identifier: Apache-2.0
"""What a training costs: bytes moved, operations, memory by component, seconds (docs/scale.md).

Counts follow from the shape alone. Seconds are counts times rates, which `fit_rates` takes from a
few small runs; `check` compares forecasts with larger runs, and `forecast` works one out for a
cluster from processor seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

Run = dict[str, Any]

BLOCK = 1 << 18  # ratings
AHEAD = 4  # blocks that wait
PART = 1 << 21  # ratings that are sorted at a time (tacit/data/sorting.py)
DUCKDB = 320e6  # its memory limit
HELD = 2.0**30  # bytes of shares that a Spark task holds (tacit/engines/shards.py)
STORED = 12.0  # bytes of a rating in the database, and again in the file of parts
IMPORTS = 110e6  # a process that has everything loaded
STARTED = 260e6  # and has trained on two ratings
TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class Shape:
    """Of one training by ALS with one Gram matrix for all items."""

    users: int
    items: int
    ratings: int
    rank: int
    steps: int
    offset_steps: int = 5

    @property
    def passes(self) -> int:
        """How often all rows are read: for counts, offsets and steps."""
        return 1 + self.offset_steps + self.steps

    @property
    def flops(self) -> float:
        """Of one ALS step: users' normal equations, their Cholesky factors, residuals and sums.

        Lengths of rows are log-normal, as those of the Netflix prize. A user with fewer ratings
        than the rank solves a system of as many.
        """
        mean, r = self.ratings / self.users, self.rank
        spread = np.exp(1.25 * ndtri((np.arange(1000) + 0.5) / 1000))
        n = mean * spread / spread.mean()
        m = np.minimum(n, r)
        user = float(np.mean(n * m * r + m**3 / 3 + r * r))
        return self.users * user + 4.0 * self.ratings * r

    @property
    def row_bytes(self) -> float:
        """Of the rows on disk, of which each pass reads all: items, ratings, two offsets a user."""
        return 4.5 * self.ratings + 8.0 * self.users

    @property
    def sorting_bytes(self) -> float:
        """Temporary files while sorting: as stored, by parts, and as rows on disk."""
        return 2 * STORED * self.ratings + self.row_bytes

    @property
    def sums_bytes(self) -> float:
        """One accumulator of an ALS step: a gradient of 64-bit integers and the shared Gram."""
        return 8.0 * (self.items * self.rank + self.rank * (self.rank + 1) / 2)

    @property
    def share_bytes(self) -> float:
        """What all users add in a step, as factors: item and amount of a rating, X of a user."""
        return 8.0 * self.ratings + (4.0 * self.rank + 8.0) * self.users

    def sent_by_spark(self, tasks: int) -> float:
        """Sums that leave the tasks in a step: all of them whenever a task's hands are full."""
        return self.sums_bytes * tasks * math.ceil(self.share_bytes / tasks / HELD)

    @property
    def factor_bytes(self) -> float:
        """Item factors as users get them, in single precision."""
        return 4.0 * self.items * self.rank

    def memory(self, threads: int = 2) -> dict[str, float]:
        """Bytes by component: of reading (DuckDB and its parts), and of a step."""
        staged = min(DUCKDB, STORED * self.ratings)
        # A part is used while the next one waits and another is sorted.
        reading = STARTED + 1.1 * staged + 3 * min(PART, self.ratings) * 2 * STORED
        blocks = (AHEAD + 1 + threads) * BLOCK * 8.0 + threads * BLOCK * 100.0
        return {
            "reading": reading,
            "blocks": blocks,
            "accumulators": threads * self.sums_bytes,
            "factors, noise, answers": 6 * 2 * self.factor_bytes,
            "training": 3 * IMPORTS + blocks + threads * self.sums_bytes + 12 * self.factor_bytes,
        }

    @property
    def peak(self) -> float:
        found = self.memory()
        return max(found["reading"], found["training"])


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds for each unit of work."""

    read_rating: float
    sort_rating: float
    offset_rating: float
    step_rating: float
    step_user: float
    step_flop: float
    step_number: float
    fixed: float

    def seconds(self, shape: Shape) -> dict[str, float]:
        """A training from Parquet to the saved model, by stage."""
        step = (
            self.step_rating * shape.ratings
            + self.step_user * shape.users
            + self.step_flop * shape.flops
            + self.step_number * shape.items * shape.rank
        )
        return {
            "read, check, number": self.read_rating * shape.ratings,
            "sort by user": self.sort_rating * shape.ratings,
            "counts, offsets": self.offset_rating * shape.ratings * (1 + shape.offset_steps),
            "ALS steps": step * shape.steps,
            "the rest": self.fixed,
        }


def shape_of(run: Run, rank: int, steps: int) -> Shape:
    return Shape(run["users"], run["items"], run["ratings"], rank, steps)


def fit_rates(runs: list[tuple[Shape, Run]], tiny: tuple[Shape, Run], kind: str) -> Rates:
    """Rates from runs of different shape and one of hardly any ratings; of "seconds" or "cpu"."""

    def spent(run: Run, *names: str) -> float:
        return float(sum(run["stages"][name][kind] for name in names))

    def rate(work: Callable[[Shape], float], *names: str) -> float:
        """What it takes beyond the tiny run."""
        more = sum(spent(run, *names) - spent(tiny[1], *names) for _, run in runs)
        return max(more, 0.0) / sum(work(shape) for shape, _ in runs)

    found, _ = nnls(*_steps([*runs, tiny], kind))
    others = [name for name in tiny[1]["stages"] if name != "ALS step"]
    return Rates(
        rate(lambda shape: shape.ratings, "read", "check, number"),
        rate(lambda shape: shape.ratings, "sort by user"),
        rate(lambda shape: shape.ratings * (1 + shape.offset_steps), "counts", "item offsets"),
        *found.tolist(),
        fixed=spent(tiny[1], *others),
    )


def _steps(runs: list[tuple[Shape, Run]], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Work of a step in each unit and what it took, both relative to that."""
    work = [[s.ratings, s.users, s.flops, s.items * s.rank] for s, _ in runs]
    steps = np.array([run["stages"]["ALS step"][kind] / s.steps for s, run in runs])
    return np.array(work) / steps[:, None], np.ones(len(runs))


def check(rates: Rates, cpu: Rates, runs: list[tuple[Shape, Run]]) -> bool:
    """Print forecasts and measurements side by side; whether seconds and peaks are near enough."""
    columns = ("users", "items", "ratings", "rank", "seconds", "CPU seconds", "peak MiB")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    worst = 0.0
    for shape, run in runs:
        processor = sum(stage["cpu"] for stage in run["stages"].values())
        pairs = (
            (sum(rates.seconds(shape).values()), run["seconds"]),
            (sum(cpu.seconds(shape).values()), processor),
            (shape.peak / 2**20, run["peak"] / 2**20),
        )
        worst = max(worst, *(abs(pairs[n][0] / pairs[n][1] - 1) for n in (0, 2)))
        cells = [f"{getattr(shape, name):,}" for name in columns[:4]]
        cells += [f"{said:,.0f} forecast, {found:,.0f} measured" for said, found in pairs]
        print(f"| {' | '.join(cells)} |")
    verdict = "reached" if worst <= TOLERANCE else "MISSED "
    told = f"seconds and peaks within 25% at {len(runs)} sizes: {100 * worst:.0f}% at worst"
    print(f"\n{verdict}  {told}")
    return worst <= TOLERANCE


def forecast(shape: Shape, rates: Rates, executors: int, cores: int) -> None:
    """Print what a cluster needs; rates are processor seconds."""
    everything = rates.seconds(shape)
    hours = sum(everything.values()) / 3600
    one, step = shape.sums_bytes, everything["ALS steps"] / shape.steps
    print(
        f"\n{shape.users:,} users, {shape.items:,} items, {shape.ratings:,} ratings; rank "
        f"{shape.rank}, {shape.steps} steps; {executors} executors of {cores} cores\n"
    )
    for name, seconds in everything.items():
        print(f"    {name:24}{seconds / 3600:10.2f} core-hours")
    rows = {
        "in all": f"{hours:.2g} core-hours, {hours * 60 / executors / cores:.0f} minutes",
        "operations of a step": f"{shape.flops:.1e}, {step / executors / cores:.0f} s",
        "rows on disk": f"{shape.row_bytes / 1e9:,.0f} GB, read {shape.passes} times",
        "temporary files": f"{shape.sorting_bytes / 1e9:,.0f} GB while sorting",
        "one accumulator": f"{one / 1e9:.2f} GB; {one * cores / 1e9:.0f} GB for all cores of one",
        "sums sent in a step": f"{shape.sent_by_spark(executors * cores) / 1e9:,.0f} GB by Spark",
        "if a machine adds up": f"{one * executors / 1e9:,.0f} GB, one accumulator from each",
        "if shares are sent": f"{shape.share_bytes / 1e9:,.0f} GB, to the range of their item",
        "factors sent in a step": f"{shape.factor_bytes * executors / 1e9:,.0f} GB",
        "noise of a step": f"{shape.items * shape.rank / 1e8:.1f} s on one core",
        "driver": f"{(one * 3 + shape.factor_bytes * 6) / 1e9:.1f} GB",
        "a Gram for each item": f"{one * (shape.rank + 1) / 2e9:,.0f} GB, one accumulator",
    }
    for name, text in rows.items():
        print(f"    {name:24}{text}")
    share = shape.users / 2.0**31
    room = math.log2(2.0**62 / (2.0**29 * shape.users))
    print(f"    {'numbers':24}users fill {100 * share:.0f}% of 32 bits; sums leave {room:.0f} bits")


def describe_rates(rates: Rates) -> str:
    """In nanoseconds, but for what is there once."""
    named = {each.name: getattr(rates, each.name) for each in fields(rates)}
    fixed = named.pop("fixed")
    parts = [f"{name.replace('_', ' of a ')} {value * 1e9:.3g} ns" for name, value in named.items()]
    return f"{', '.join(parts)}; once {fixed:.1f} s"
