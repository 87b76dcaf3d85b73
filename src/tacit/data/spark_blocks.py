# SPDX-License-Identifier: Apache-2.0
"""What an executor does while a Spark DataFrame is read: sorted rows become blocks of whole users.

Everything here is a function of its rows, so that a task may run again, or twice at once. Nothing
is raised that a row could be quoted in: a rule that is broken comes back as a `fault`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from tacit import kernels
from tacit.data.block import UserBlock
from tacit.data.levels import as_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

RATINGS_PER_BLOCK = 1 << 18

_BYTES = pa.binary()

SCHEMA = "fault string, indptr binary, items binary, values binary, levels binary"

REPEATED, TIED, UNEVEN, OTHER_MACHINE = "repeated", "tied", "uneven", "other machine"


class ExecutorError(RuntimeError):
    """Work on an executor broke off. Names the kind of error only: executors write logs."""


class Encoded(NamedTuple):
    """A block, or which rule its rows break."""

    fault: str
    block: UserBlock


def machine() -> tuple[str, str]:
    """What must be the same everywhere for sums to have the same bits: version and kernels."""
    return version("tacit"), kernels.isa()


@dataclass(frozen=True, slots=True)
class Encoding:
    """How rows become blocks.

    duplicates: see `read`; of rows of one user and item the last stays.
    machine: that of the driver.
    """

    n_items: int
    duplicates: str
    machine: tuple[str, str]
    ratings_per_block: int = RATINGS_PER_BLOCK

    def encoded(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows sorted by user, item and time as rows of `SCHEMA`, one for each block."""
        kind = ""
        try:
            if machine() != self.machine:
                yield _row(OTHER_MACHINE, _nobody(self.n_items))
                return
            for rows in whole_users(batches, self.ratings_per_block):
                yield _row(*self._block(rows))
        except Exception as error:  # noqa: BLE001 (whatever it is, it has seen raw data)
            kind = type(error).__name__
        if kind:
            raise ExecutorError(f"rows could not be encoded ({kind})")

    def _block(self, rows: pa.Table) -> Encoded:
        """The columns user, item (null if outside the catalogue), rating and perhaps time."""
        same_user = _same_as_before(rows["user"])
        items = rows["item"].combine_chunks()
        known = items.is_valid().to_numpy(zero_copy_only=False)
        numbers = items.fill_null(-1).to_numpy().astype(np.int32)
        values = rows["rating"].to_numpy().astype(np.float32)
        again = same_user & known
        again[1:] &= numbers[1:] == numbers[:-1]
        if again.any() and self.duplicates == "refuse":
            return Encoded(REPEATED, _nobody(self.n_items))
        if "time" in rows.column_names and _ties(again, rows["time"], values):
            return Encoded(TIED, _nobody(self.n_items))
        kept = known
        kept[:-1] &= ~again[1:]
        user_of_row = np.cumsum(~same_user) - 1
        counts = np.bincount(user_of_row[kept], minlength=int(user_of_row[-1]) + 1)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        block = UserBlock(indptr, numbers[kept], values[kept], self.n_items)
        if "privacy" in rows.column_names:
            own, uneven = _declared(rows["privacy"].to_numpy(), np.flatnonzero(~same_user))
            if uneven:
                return Encoded(UNEVEN, _nobody(self.n_items))
            block = replace(block, levels=as_levels(own))
        block.check()
        return Encoded("", block)


def decoded(row: Any, n_items: int) -> Encoded:
    """A row of `SCHEMA`."""
    block = UserBlock(
        np.frombuffer(row.indptr, np.int64),
        np.frombuffer(row.items, np.int32),
        np.frombuffer(row["values"], np.float32),
        n_items,
        None if row.levels is None else np.frombuffer(row.levels, np.float32),
    )
    return Encoded(row.fault, block)


def whole_users(batches: Iterable[pa.RecordBatch], least: int) -> Iterator[pa.Table]:
    """Rows that are sorted by user in tables of at least so many, cut between users only."""
    waiting: list[pa.RecordBatch] = []
    wanted = least
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) < wanted:
            continue
        rows = pa.Table.from_batches(waiting).combine_chunks()
        # The rows of the last user may go on in the next batch.
        start = int(np.flatnonzero(~_same_as_before(rows["user"]))[-1])
        if start:
            yield rows.slice(0, start)
        waiting = rows.slice(start).to_batches()
        # A user with more rows than that is looked at again when they have doubled.
        wanted = max(least, 2 * (len(rows) - start))
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting).combine_chunks()


def _same_as_before(column: pa.ChunkedArray[Any]) -> NDArray[np.bool_]:
    """For each row whether it has the value of the row before; the first one has not."""
    same = np.zeros(len(column), np.bool_)
    values = column.combine_chunks()
    equal: Any = compute.equal(values[1:], values[:-1])
    same[1:] = equal.to_numpy(zero_copy_only=False)
    return same


def _ties(
    again: NDArray[np.bool_], time: pa.ChunkedArray[Any], values: NDArray[np.float32]
) -> bool:
    """Whether a user rated an item twice at one time, differently."""
    times = time.to_numpy()
    tied = again[1:] & (times[1:] == times[:-1]) & (values[1:] != values[:-1])
    return bool(tied.any())


def _declared(
    levels: NDArray[np.float64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], bool]:
    """What each user declared on any of her rows, NaN where nothing; whether hers differ."""
    least = np.fmin.reduceat(levels, starts)
    most = np.fmax.reduceat(levels, starts)
    return least, bool(np.any(most > least))


def _nobody(n_items: int) -> UserBlock:
    return UserBlock(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), n_items)


def _row(fault: str, block: UserBlock) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "fault": [fault],
            "indptr": [block.indptr.tobytes()],
            "items": [block.items.tobytes()],
            "values": [block.values.tobytes()],
            "levels": pa.array([None if block.levels is None else block.levels.tobytes()], _BYTES),
        }
    )
