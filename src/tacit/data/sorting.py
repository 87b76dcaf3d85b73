# SPDX-License-Identifier: Apache-2.0
"""Rows in the order of users and items, however many there are, in memory that does not grow.

Users are cut into parts that memory holds. Every row is written to a file once, beside others of
its part, and read once more when its part is sorted. Both passes are linear in the rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array

from tacit.data.block import UserBlock
from tacit.data.errors import DataError
from tacit.data.spilled import SpilledArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    Rows = NDArray[Any]

PART = 1 << 21
"""So many rows are sorted at a time, or those of one user."""


class Sorter:
    """Rows in any order go in; the rows of some users at a time, in order, come out.

    counts: of each user, how many rows there may be.
    folder: where the rows lie meanwhile, in a file without a name.
    """

    def __init__(self, counts: NDArray[np.int64], n_items: int, folder: Path) -> None:
        place = (np.cumsum(counts) - counts) // PART
        part = np.cumsum(np.diff(place, prepend=0) > 0)
        n_parts = int(part[-1]) + 1
        self._users = np.searchsorted(part, np.arange(n_parts + 1))
        # Arrays of 16 bits are sorted in time that is linear in their length.
        self._part = part.astype(np.uint16 if n_parts <= 1 << 16 else np.int32)
        self._n_items = n_items
        self._folder = folder
        self._ends: list[NDArray[np.int64]] = []
        self._file: SpilledArray | None = None

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take all rows: columns u and i, numbers of user and item, v and perhaps t.

        Raises:
            DataError: the disk is full.
        """
        done = 0
        for batch in batches:
            rows, ends = self._arranged(batch)
            try:
                if self._file is None:
                    self._file = SpilledArray(self._folder, (), rows.dtype)
                self._file[done : done + len(rows)] = rows
            except OSError as error:
                failure = _no_room(error)
            else:
                self._ends.append(done + ends)
                done += len(rows)
                continue
            raise failure

    def parts(self) -> Iterator[tuple[UserBlock, NDArray[Any] | None]]:
        """Some users at a time, with the times of their rows; every user once.

        A user's rows are in the order of item, t and v. A pair is there as often as it was given.
        """
        with ThreadPoolExecutor(1, "tacit-sort") as pool:  # the next part, while one is used
            coming = pool.submit(self._sorted, 0)
            for part in range(1, len(self._users)):
                found = coming.result()
                if part < len(self._users) - 1:
                    coming = pool.submit(self._sorted, part)
                yield found

    def _arranged(self, batch: pa.RecordBatch) -> tuple[Rows, NDArray[np.int64]]:
        """The rows of a batch in the order of their parts, and where each part begins and ends."""
        columns = [np.asarray(column) for column in batch.columns]
        part = self._part[columns[0]]
        order = np.argsort(part, kind="stable")
        kinds = [(name, c.dtype) for name, c in zip(batch.schema.names, columns, strict=True)]
        rows: Rows = np.empty(len(order), kinds)
        for name, column in zip(batch.schema.names, columns, strict=True):
            rows[name] = column[order]
        counts = np.bincount(part, minlength=len(self._users) - 1)
        return rows, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    def _taken(self, part: int) -> Rows:
        """All rows of a part, in any order."""
        if self._file is None:
            return np.empty(0, [("u", np.int32), ("i", np.int32), ("v", np.float32)])
        return np.concatenate([self._file[ends[part] : ends[part + 1]] for ends in self._ends])

    def _sorted(self, part: int) -> tuple[UserBlock, NDArray[Any] | None]:
        first, stop = self._users[part : part + 2].tolist()
        n_users, rows = stop - first, self._taken(part)
        u, i, v = rows["u"] - np.int32(first), rows["i"], rows["v"]
        if "t" in (rows.dtype.names or ()):
            order = np.lexsort((v, rows["t"], i, u))
            ends = np.cumsum(np.bincount(u, minlength=n_users))
            indptr = np.concatenate([np.zeros(1, np.int64), ends])
            block = UserBlock(indptr, i[order], v[order], self._n_items, first=first)
            return block, rows["t"][order]
        # Two counting sorts, by item and by user. Nothing is to be added up, so repeated pairs
        # must not be looked for.
        by_item = coo_array((v, (i, u)), shape=(self._n_items, n_users))
        by_item.has_canonical_format = True
        found = by_item.tocsr().tocsc()
        indptr = found.indptr.astype(np.int64)
        return UserBlock(indptr, found.indices, found.data, self._n_items, first=first), None


def _no_room(error: OSError) -> DataError:
    return DataError(
        f"rows could not be sorted ({error.strerror or type(error).__name__}); make room where "
        "temporary files lie, or name another place by the environment variable TMPDIR"
    )
