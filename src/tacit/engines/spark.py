# SPDX-License-Identifier: Apache-2.0
"""Executors of a Spark application over blocks that they hold.

A task adds its blocks up shard by shard (`shards`). Tasks are functions of their blocks and of the
contribution, and sums are integers: a task that runs again, or twice at once, or on an executor
that took over, gives the same bytes. Nothing is counted on the side, and the ledger is charged on
the driver before any of them starts.
"""

from __future__ import annotations

import gc
import pickle
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.spark_blocks import Encoded, ExecutorError, machine
from tacit.engines.shards import Sizes, added_up, shards_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.block import UserBlock
    from tacit.data.spark import SparkRows

    Piece = tuple[int, int, bytes]

PIECES = "piece int, source int, numbers binary"

DIRECT = 1 << 26
"""The driver adds up by itself what all tasks send together, if it is at most so many bytes."""

FAN_IN = 32
"""Sources that are added up by one task, piece by piece."""

AT_ONCE = 1 << 28
"""Sums of more bytes come to the driver one task after the other."""


class SparkEngine:
    """Adds up on the executors; equal to every other engine for any number of partitions."""

    def __init__(
        self,
        users: SparkRows,
        *,
        sizes: Sizes | None = None,
        direct: int = DIRECT,
        fan_in: int = FAN_IN,
    ) -> None:
        self._users = users
        self._sizes = sizes or Sizes()
        self._direct = direct
        self._fan_in = max(fan_in, 2)

    @property
    def n_users(self) -> int:
        return self._users.n_users

    def total(self, contribution: Contribution) -> Sums:
        from pyspark import cloudpickle  # noqa: PLC0415 (an extra)

        encoded = self._users.encoded
        # Pickled with everything derived, so that executors compute nothing public anew.
        sent = encoded.context.broadcast(cloudpickle.dumps(contribution))
        try:
            sums = contribution.zeros()
            shards = shards_of(contribution.parts, self._sizes)
            places = [place for shard in shards for place in shard.places]
            found = encoded.mapPartitionsWithIndex(_adding(sent, machine(), self._sizes))
            size = sum(part.size for part in contribution.parts) * 8
            for number, _, numbers in self._reduced(found, len(places), size):
                part, start, stop = places[number]
                sums[part].reshape(-1)[start:stop] += np.frombuffer(numbers, np.int64)
            return sums
        finally:
            sent.destroy()

    def _reduced(self, found: Any, n_pieces: int, size: int) -> Iterable[Piece]:
        """Added up in a tree of tasks, until the driver can do the rest."""
        tasks = sources = found.getNumPartitions()
        while sources > 1 and sources * size > self._direct:
            sources = -(-sources // self._fan_in)
            found = _tree_level(found, sources, min(tasks, n_pieces * sources))
        if size * sources > AT_ONCE:
            streamed: Iterable[Piece] = found.toLocalIterator()
            return streamed
        collected: Iterable[Piece] = found.collect()
        return collected


def _adding(
    sent: Any, expected: tuple[str, str], sizes: Sizes
) -> Callable[[int, Iterable[Encoded]], Iterator[Piece]]:
    """What a task does."""

    def add(partition: int, blocks: Iterable[Encoded]) -> Iterator[Piece]:
        return _added(partition, blocks, sent, expected, sizes)

    return add


def _added(
    partition: int, blocks: Iterable[Encoded], sent: Any, expected: tuple[str, str], sizes: Sizes
) -> Iterator[Piece]:
    """The blocks of a partition added up, in pieces; nothing is raised that quotes a row."""
    _spare_modules()
    if machine() != expected:
        raise ExecutorError("this executor has another version of tacit, or other kernels")
    kind = ""
    try:
        contribution = pickle.loads(sent.value)  # noqa: S301 (from our own driver)
        for number, numbers in added_up(contribution, _sound(blocks), sizes):
            yield number, partition, numbers.tobytes()
    except Exception as error:  # noqa: BLE001 (whatever it is, it has seen raw data)
        kind = type(error).__name__
    if kind:
        raise ExecutorError(f"a sum broke off ({kind})")


@cache
def _spare_modules() -> None:
    """Spark's worker looks for garbage after every task; what its modules hold is none."""
    gc.freeze()


def _sound(encoded: Iterable[Encoded]) -> Iterator[UserBlock]:
    """The blocks, which had no fault when they were read."""
    for fault, block in encoded:
        if fault:
            raise ExecutorError("the source has changed since it was read")
        yield block


def _tree_level(found: Any, sources: int, tasks: int) -> Any:
    """Each piece added up within each of so many groups of sources, by so many tasks.

    By a DataFrame, because Spark's executors move and sort its rows one by one; Python's own
    shuffles first collect what a task sends.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    grouped = found.toDF(PIECES).withColumn("source", F.col("source") % sources)
    apart = grouped.repartition(tasks, "piece", "source")
    return apart.sortWithinPartitions("piece", "source").rdd.mapPartitions(_sum_of_runs)


def _sum_of_runs(found: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours of the same number and source added up; one sum is held at a time."""
    key: tuple[int, int] | None = None
    total: Any = None
    for number, source, numbers in found:
        arrived = np.frombuffer(numbers, np.int64)
        if key == (number, source):
            total += arrived
            continue
        if key is not None:
            yield (*key, total.tobytes())
        key, total = (number, source), arrived.copy()
    if key is not None:
        yield (*key, total.tobytes())
