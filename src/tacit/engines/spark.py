# SPDX-License-Identifier: Apache-2.0
"""Executors of a Spark application over blocks that they hold.

A task adds its blocks up in an accumulator of its own and hands it over in shards, ranges of the
sums. Tasks are functions of their blocks and of the contribution, and sums are integers: a task
that runs again, or twice at once, or on an executor that took over, gives the same bytes. Nothing
is counted on the side, and the ledger is charged on the driver before any of them starts.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.spark_blocks import Encoded, ExecutorError, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.spark import SparkRows

    Shard = tuple[tuple[int, int], bytes]

SHARD = 1 << 20
"""Numbers in a shard: 8 MiB."""

DIRECT = 1 << 26
"""The driver adds up by itself what all tasks send together, if it is at most so many bytes."""

FAN_IN = 32
"""Accumulators that are added up by one task for each shard."""

AT_ONCE = 1 << 28
"""Sums of more bytes come to the driver one shard after the other."""


class SparkEngine:
    """Adds up on the executors; equal to every other engine for any number of partitions."""

    def __init__(
        self, users: SparkRows, *, shard: int = SHARD, direct: int = DIRECT, fan_in: int = FAN_IN
    ) -> None:
        self._users = users
        self._shard = shard
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
            shards = encoded.mapPartitionsWithIndex(_adding(sent, machine(), self._shard))
            totals = contribution.zeros()
            places = list(_places(totals, self._shard))
            for (number, _), share in self._reduced(shards, len(places), contribution):
                places[number][:] += np.frombuffer(share, np.int64)
            return totals
        finally:
            sent.destroy()

    def _reduced(self, shards: Any, n_shards: int, contribution: Contribution) -> Iterable[Shard]:
        """Added up in a tree of tasks, until the driver can do the rest."""
        sources = shards.getNumPartitions()
        size = sum(part.size for part in contribution.parts) * 8
        while sources > 1 and sources * size > self._direct:
            sources = -(-sources // self._fan_in)
            shards = _tree_level(shards, n_shards, sources)
        if size * sources > AT_ONCE:
            streamed: Iterable[Shard] = shards.toLocalIterator()
            return streamed
        collected: Iterable[Shard] = shards.collect()
        return collected


def _adding(
    sent: Any, expected: tuple[str, str], shard: int
) -> Callable[[int, Iterable[Encoded]], Iterator[Shard]]:
    """What a task does."""

    def add(partition: int, blocks: Iterable[Encoded]) -> Iterator[Shard]:
        return _added(partition, blocks, sent, expected, shard)

    return add


def _added(
    partition: int, blocks: Iterable[Encoded], sent: Any, expected: tuple[str, str], shard: int
) -> Iterator[Shard]:
    """The blocks of a partition added up, in shards; nothing is raised that quotes a row."""
    if machine() != expected:
        raise ExecutorError("this executor has another version of tacit, or other kernels")
    kind = ""
    try:
        contribution = pickle.loads(sent.value)  # noqa: S301 (from our own driver)
        sums: Sums | None = None
        for fault, block in blocks:
            if fault:
                raise ExecutorError("the source has changed since it was read")
            sums = contribution.zeros() if sums is None else sums
            contribution.add(block, sums)
        if sums is not None:
            for number, place in enumerate(_places(sums, shard)):
                yield (number, partition), place.tobytes()
    except Exception as error:  # noqa: BLE001 (whatever it is, it has seen raw data)
        kind = type(error).__name__
    if kind:
        raise ExecutorError(f"a sum broke off ({kind})")


def _places(sums: Sums, shard: int) -> Iterator[Any]:
    """Views of at most so many numbers: each part in the order of its items."""
    for array in sums.values():
        flat = array.reshape(-1)
        for start in range(0, max(len(flat), 1), shard):
            yield flat[start : start + shard]


def _tree_level(shards: Any, n_shards: int, groups: int) -> Any:
    """Each shard added up over the accumulators of each group: one task for each sum."""
    keyed = shards.map(lambda one: ((one[0][0], one[0][1] % groups), one[1]))
    apart = keyed.partitionBy(n_shards * groups, lambda key: key[0] * groups + key[1])
    return apart.mapPartitions(_sum_of_shards)


def _sum_of_shards(shards: Iterable[Shard]) -> Iterator[Shard]:
    """One sum for each key, of which a partition has one."""
    sums: dict[tuple[int, int], Any] = {}
    for key, share in shards:
        arrived = np.frombuffer(share, np.int64)
        if key in sums:
            sums[key] += arrived
        else:
            sums[key] = arrived.copy()
    for key, total in sums.items():
        yield key, total.tobytes()
