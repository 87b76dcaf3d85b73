# SPDX-License-Identifier: Apache-2.0
"""Tables and matrices in memory. No library is imported but the one whose object came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tacit.data.errors import DataError
from tacit.data.rows import Matrix, Rows, Scan, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.data.rows import Picks

SMALL_BATCH = 1 << 19
"""Batches below this many rows are put together before they are stored."""


def library_of(source: object) -> str:
    """Which library a class, or one it derives from, belongs to, of those read here."""
    for parent in type(source).__mro__:
        library = parent.__module__.partition(".")[0]
        if library in ("pandas", "polars", "pyspark", "scipy"):
            return library
    return ""


def open_frame(source: Any) -> Rows | None:
    """Arrow, pandas or polars; None for anything else."""
    library = library_of(source)
    if isinstance(source, pa.Table):
        return Scan(source.column_names, "given", lambda picks: _chosen(source, picks))
    if library == "pandas" and hasattr(source, "columns"):
        return _open_pandas(source)
    if library == "polars" and hasattr(source, "collect_schema"):
        return _open_polars(source)
    if isinstance(source, pa.RecordBatch):
        return open_frame(pa.Table.from_batches([source]))
    if hasattr(source, "__arrow_c_stream__"):
        return open_reader(pa.RecordBatchReader.from_stream(source))
    return None


def _chosen(table: pa.Table, picks: Picks) -> pa.Table:
    return table.select(list(picks.values()))


def _open_pandas(frame: Any) -> Scan:
    def table(picks: Picks) -> pa.Table:
        arrays = [_from_pandas(frame[name], role, name) for role, name in picks.items()]
        return pa.table(arrays, list(picks.values()))

    return Scan([name for name in frame.columns if isinstance(name, str)], "given", table)


def _from_pandas(column: Any, role: str, name: str) -> Any:
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # what the library says quotes a value
    raise DataError(_mixed(role, name))


def _open_polars(frame: Any) -> Scan:
    def table(picks: Picks) -> pa.Table:
        chosen = frame.select(list(picks.values()))
        chosen = chosen.collect() if hasattr(chosen, "collect") else chosen
        for role, name in picks.items():
            if str(chosen.schema[name]) == "Object":
                raise DataError(_mixed(role, name))
        return chosen.to_arrow()  # type: ignore[no-any-return]

    return Scan(frame.collect_schema().names(), "given", table)


def _mixed(role: str, name: str) -> str:
    return (
        f"column {name!r} ({role}) holds values of several types, such as 1 and '1'; "
        "make them all integers or all strings"
    )


def open_reader(reader: pa.RecordBatchReader) -> Stream:
    """A stream of record batches, read once."""

    def batches(picks: Picks) -> Iterator[pa.RecordBatch]:
        def picked(batch: pa.RecordBatch) -> pa.RecordBatch:
            columns = [stored(batch.column(name)) for name in picks.values()]
            return pa.RecordBatch.from_arrays(columns, list(picks))

        return in_large_batches(map(picked, quietly(reader)))

    return Stream(reader.schema.names, batches)


def in_large_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, with small batches put together and empty ones left out."""
    waiting: list[pa.RecordBatch] = []
    for batch in filter(len, batches):
        waiting.append(batch)
        if sum(len(part) for part in waiting) >= SMALL_BATCH:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def stored(column: Any) -> Any:
    """The column in a type that DuckDB knows."""
    if getattr(column.type, "extension_name", "") == "arrow.opaque":
        return column.cast(column.type.storage_type)  # a database's own type, such as numeric
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column


def quietly(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches; what goes wrong on the way is told without the words of the other side."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 (whatever a foreign stream raises may quote a row)
            kind = type(error).__name__
        else:
            yield batch
            continue
        raise DataError(
            f"the stream of rows broke off ({kind}); read its source by itself to see why"
        )


def open_matrix(
    matrix: Any, user_axis: Literal["rows", "columns"] | None, catalogue_size: int | None
) -> Matrix:
    """A SciPy matrix; ids are the numbers of its rows and columns, from 0."""
    if user_axis is None:
        raise DataError(
            "a sparse matrix does not say where its users are: "
            "user_axis='rows' if each row is a user, user_axis='columns' if each column is"
        )
    if getattr(matrix, "ndim", 0) != 2:
        raise DataError("a matrix of ratings needs two axes: users and items")
    n_users, n_items = matrix.shape if user_axis == "rows" else matrix.shape[::-1]
    if n_items == 0:
        raise DataError(f"with user_axis={user_axis!r} the matrix has no items")
    if catalogue_size not in (None, n_items):
        turned = catalogue_size == n_users
        raise DataError(
            f"with user_axis={user_axis!r} the matrix has {n_items} items, but items= lists "
            f"{catalogue_size}; "
            + (
                "the orientation looks wrong: the other user_axis fits"
                if turned
                else "they must agree"
            )
        )
    entries = matrix.tocoo()
    users, items = (entries.row, entries.col) if user_axis == "rows" else (entries.col, entries.row)
    table = pa.table({"user": users, "item": items, "rating": _numbers(entries.data)})
    return Matrix(
        table.column_names,
        "given",
        lambda picks: _chosen(table, picks),
        n_users=n_users,
        n_items=n_items,
    )


def _numbers(values: Any) -> Any:
    if values.dtype.kind not in "biuf":
        raise DataError("the matrix holds something else than real numbers; convert it to float32")
    return pa.array(values)
