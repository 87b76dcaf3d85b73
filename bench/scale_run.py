# SPDX-License-Identifier: Apache-2.0
"""One training from rows to a saved model, stage by stage: seconds, peak memory, temporary files.

The kernel's own record of a process's peak is cleared between stages, so that each has its own.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import tacit
import tacit.data.read
from tacit.data.staging import Staging
from tacit.datasets import netflix_blocks
from tacit.training import Budget, Execution, train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUDGET = Budget(1.0, 1e-7)
START = "start: libraries, and two made-up ratings"
READ, SORT = "read", "sort by user"
NAMES = {"counts": "counts", "offsets": "item offsets", "factors": "ALS step"}


class Stages:
    """Seconds and peak of each, in the order in which they first began."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._start = time.perf_counter(), time.process_time()
        clear_peak()

    def done(self, name: str) -> None:
        """What began when the one before was done has ended."""
        now, cpu, peak = time.perf_counter(), time.process_time(), peak_memory()
        stage = self.found.setdefault(name, {"times": 0, "seconds": 0.0, "cpu": 0.0, "peak": 0.0})
        stage["times"] += 1
        stage["seconds"] += now - self._start[0]
        stage["cpu"] += cpu - self._start[1]
        stage["peak"] = max(stage["peak"], peak)
        clear_peak()
        self._start = time.perf_counter(), time.process_time()


def clear_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Bytes; of this process and of every one that descends from it."""
    return _status("self", "VmHWM") + sum(_status(each, "VmRSS") for each in _descendants())


def _status(process: str, name: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(name):
                return float(line.split()[1]) * 1024
    return 0.0


def _descendants() -> list[str]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[stat.parent.name] = stat.read_text().rpartition(")")[2].split()[1]
    ours = {str(os.getpid())}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sorted(ours - {str(os.getpid())})


def nameless(folder: Path) -> Iterator[Path]:
    """Files that this process has open there and that have no name, or none any more."""
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            name = str(path.readlink())
            if name.startswith(str(folder)) and name.endswith(" (deleted)"):
                yield path


@contextmanager
def watched_disk(folder: Path) -> Iterator[list[float]]:
    """The most bytes that lay in the folder, as seen twice a second."""
    most, enough = [0.0], threading.Event()

    def watch() -> None:
        while not enough.wait(0.5):
            sizes = []
            for path in [*folder.rglob("*"), *nameless(folder)]:
                with suppress(OSError):
                    sizes.append(path.stat().st_blocks * 512)
            most[0] = max(most[0], sum(sizes))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        enough.set()
        thread.join()


def after(function: Callable[..., Any], then: Callable[[], None]) -> Callable[..., Any]:
    """The function, which says when it is done."""

    @wraps(function)
    def wrapped(*given: Any, **named: Any) -> Any:
        answer = function(*given, **named)
        then()
        return answer

    return wrapped


def run(source: Any, stream: bool, output: str, rank: int, steps: int) -> dict[str, Any]:  # noqa: FBT001 (from JSON)
    """Everything from rows to the saved model; what it took."""
    stages, start = Stages(), time.perf_counter()
    few = tacit.read(pa.table({"user": [1, 2], "item": [1, 1], "rating": [1.0, 5.0]}), stream=True)
    train(few, tacit.ALS(rank=1, steps=1), Budget(1.0, 0.1), Execution())
    stages.done(START)
    Staging.store = after(Staging.store, lambda: stages.done(READ))
    tacit.data.read.declared = after(tacit.data.read.declared, lambda: stages.done("check, number"))
    with tempfile.TemporaryDirectory(prefix="tacit-scale-") as folder:
        tempfile.tempdir = folder
        with watched_disk(Path(folder)) as disk:
            ratings = tacit.read(source, scale=(1, 5), stream=stream)
            stages.done(SORT)
            if stream:
                n_ratings = sum(len(block.items) for block in ratings.rows.blocks())
            else:
                n_ratings = len(ratings.block.items)
            stages.done("count")
            solver = tacit.ALS(rank=rank, steps=steps)
            execution = Execution(progress=lambda name: stages.done(NAMES[name]))
            fitted = train(ratings, solver, BUDGET, execution)
            fitted.model.save(output)
            stages.done("save")
            n_users, n_items = ratings.n_users, ratings.n_items
            del ratings, fitted
    counting = stages.found.pop("count")["seconds"]  # this script's own curiosity
    return {
        "users": n_users,
        "items": n_items,
        "ratings": n_ratings,
        "seconds": time.perf_counter() - start - counting,
        "peak": max(stage["peak"] for stage in stages.found.values()),
        "disk": disk[0],
        "making": getattr(source, "seconds", math.nan),
        "stages": stages.found,
    }


class made_on_the_fly:  # noqa: N801 (called like a function)
    """Rows that are made when they are asked for; users come one after the other, under odd ids."""

    def __init__(self, users: int, items: int, ratings: int) -> None:
        self.shape = users, items, ratings
        self.seconds = 0.0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        schema = pa.schema({"user": pa.uint32(), "item": pa.int32(), "rating": pa.float32()})
        reader = pa.RecordBatchReader.from_batches(schema, self._batches(schema))
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        start = time.perf_counter()
        for block in netflix_blocks(*self.shape):
            user = (block.user_of_rating() + block.first) * 2_654_435_761 % 2**32
            columns = (user.astype("uint32"), block.items, block.values)
            batch = pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=schema)
            self.seconds += time.perf_counter() - start
            yield batch
            start = time.perf_counter()
