# SPDX-License-Identifier: Apache-2.0
"""Chunks in Parquet files, read by a thread while others compute.

ratings.parquet has the rows of the kernel's arrays as they are (item, value), visits.parquet their
visits (user, length); row group c of both is chunk c. Columns are plain and uncompressed: decoding
is a copy.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.descent.chunks import Chunk, Numbering, arranged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tacit.data.block import UserBlock
    from tacit.descent.chunks import Order, Survey

_AHEAD = 2  # chunks that wait for the threads that compute


def _column(name: str, kind: pa.DataType) -> pa.Field[pa.DataType]:
    return pa.field(name, kind, nullable=False)


_RATINGS = pa.schema([_column("item", pa.int32()), _column("value", pa.float32())])
_VISITS = pa.schema([_column("user", pa.int32()), _column("length", pa.int32())])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StoredChunks:
    """Chunks in a folder; memory holds a few of them."""

    folder: Path
    layout: tuple[tuple[int, int, tuple[int, ...]], ...]
    numbering: Numbering
    mean: float

    def __len__(self) -> int:
        return len(self.layout)

    def stream(self, start: int, stop: int) -> Iterator[Chunk]:
        """Read ahead by a thread of its own, which ends when the caller stops asking."""
        ready: queue.Queue[Chunk | BaseException | None] = queue.Queue(_AHEAD)
        ended = threading.Event()

        def put(what: Chunk | BaseException | None) -> None:
            while not ended.is_set():
                with suppress(queue.Full):
                    ready.put(what, timeout=0.1)
                    return

        def read() -> None:
            try:
                with self._opened("ratings") as ratings, self._opened("visits") as visits:
                    for at in range(start, stop):
                        if ended.is_set():
                            return
                        put(self._chunk(at % len(self), ratings, visits))
                put(None)
            except BaseException as error:  # noqa: BLE001 - it is raised where the chunks are used
                put(error)

        reader = threading.Thread(target=read, name="tacit-reader", daemon=True)
        reader.start()
        try:
            while (chunk := ready.get()) is not None:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield chunk
        finally:
            ended.set()
            reader.join()

    def _opened(self, name: str) -> pq.ParquetFile:
        return pq.ParquetFile(self.folder / f"{name}.parquet", memory_map=True)

    def _chunk(self, c: int, ratings: pq.ParquetFile, visits: pq.ParquetFile) -> Chunk:
        first, stop, task_visits = self.layout[c]
        user, length = _columns(visits, c, _VISITS)
        items, values = _columns(ratings, c, _RATINGS)
        return Chunk(
            first=first,
            stop=stop,
            task_visits=np.array(task_visits, np.int64),
            visit_ratings=np.concatenate(
                [np.zeros(1, np.int64), np.cumsum(length, dtype=np.int64)]
            ),
            visit_user=user,
            items=items,
            values=values,
        )


def stored(folder: Path, blocks: Iterable[UserBlock], survey: Survey, order: Order) -> StoredChunks:
    """Arrange all users' ratings into files under `folder`, for `StoredChunks.stream`.

    The files hold raw ratings, by number of user and item.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbering = Numbering.of(survey.counts, order)
    layout = []
    with (
        _writer(folder / "ratings.parquet", _RATINGS) as ratings,
        _writer(folder / "visits.parquet", _VISITS) as visits,
    ):
        for chunk in arranged(blocks, numbering):
            length = np.diff(chunk.visit_ratings).astype(np.int32)
            _append(ratings, _RATINGS, (chunk.items, chunk.values))
            _append(visits, _VISITS, (chunk.visit_user, length))
            layout.append((chunk.first, chunk.stop, tuple(chunk.task_visits.tolist())))
    return StoredChunks(folder, tuple(layout), numbering, survey.mean)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path, schema, compression="none", use_dictionary=False, write_statistics=False
    )


def _append(writer: pq.ParquetWriter, schema: pa.Schema, arrays: tuple[np.ndarray, ...]) -> None:
    """One row group, even of no rows."""
    table = pa.table([pa.array(array) for array in arrays], schema=schema)
    writer.write_table(table, row_group_size=max(len(table), 1))


def _columns(file: pq.ParquetFile, c: int, schema: pa.Schema) -> list[np.ndarray]:
    """Row group c without a copy beyond that of the decoder."""
    table = file.read_row_group(c, use_threads=False)
    arrays = [table.column(name).combine_chunks() for name in schema.names]
    return [np.asarray(each.to_numpy(zero_copy_only=len(each) > 0)) for each in arrays]
