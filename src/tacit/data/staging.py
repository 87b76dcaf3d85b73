# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""A private scratch database, in which all the heavy work is done."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import pyarrow as pa

from tacit.data.databases import arrow_reader
from tacit.data.errors import DataError
from tacit.data.frames import stored
from tacit.data.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.data.rows import Picks, Rows

MEMORY = "320MB"
"""What DuckDB may use before it goes to disk; the rest of a process comes on top."""

THREADS = 2
"""Fixed, because memory grows with it: the peak that bench/read.py measures then holds anywhere."""

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_NUMBERS = {*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN"}
_TIMES = {
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE",
    "DATE",
}
_TEXT = {"VARCHAR", "ENUM", "UUID", '"NULL"'}
_RULES = {
    "user": (_INTEGERS | _TEXT, "ids are integers or strings"),
    "item": (_INTEGERS | _TEXT, "ids are integers or strings"),
    "rating": (_NUMBERS | _TEXT, "ratings are numbers"),
    "timestamp": (
        _INTEGERS | _TIMES | _TEXT | {"FLOAT", "DOUBLE"},
        "timestamps are numbers or dates",
    ),
    "privacy": (_NUMBERS | _TEXT, "privacy levels are numbers"),
    "title": (_TEXT, "titles are strings"),
}
_HINTS = {
    "FLOAT": "; some tools turn integers into floats where a value is missing: remove those rows",
    "DOUBLE": "; some tools turn integers into floats where a value is missing: remove those rows",
    "BLOB": "; say in its source that the bytes are text",
}


class Staging:
    """DuckDB in a folder that only this user can open.

    The folder is deleted at the end, whatever happens in between.
    """

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._types: dict[str, dict[str, str]] = {}

    def __enter__(self) -> Self:
        self.folder = Path(
            self._exits.enter_context(
                tempfile.TemporaryDirectory(prefix="tacit-read-", ignore_cleanup_errors=True)
            )
        )
        config: dict[str, Any] = {
            "memory_limit": MEMORY,
            "threads": THREADS,
            "temp_directory": str(self.folder / "spill"),
            # Rows are read three times: packing them takes longer than it saves.
            "force_compression": "uncompressed",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
        }
        # In a file a part that was read is there still when its memory is wanted for another;
        # a database in memory would write it again.
        self._connection = duckdb.connect(self.folder / "rows", config=config)
        self.run("SET enable_progress_bar = false")  # it writes to standard output
        self.run("PRAGMA disable_checkpoint_on_shutdown")  # nobody opens the file again
        self._exits.callback(self._connection.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def run(self, sql: str) -> None:
        self._connection.execute(sql)

    def row(self, sql: str) -> Any:
        """The one row of the answer."""
        return self._connection.execute(sql).fetchall()[0]

    def value(self, sql: str) -> Any:
        """The one value of the answer."""
        return self.row(sql)[0]

    def batches(self, sql: str, rows: int = 1 << 20) -> Iterator[pa.RecordBatch]:
        """The answer, a part at a time; the order of rows is the query's or none."""
        self.run("SET preserve_insertion_order = false")
        yield from arrow_reader(self._connection.sql(sql), rows)

    def column(self, sql: str) -> Any:
        """The answer's one column."""
        return self._connection.sql(sql).to_arrow_table().column(0)

    def type_of(self, table: str, role: str) -> str:
        """DuckDB's type of a stored column."""
        return self._types[table][role]

    def store(self, name: str, rows: Rows, picks: Picks) -> None:
        """Store the picked columns, named by role, as a table whose rowid is the source's order."""
        for role, column in picks.items():
            if column in rows.clashing:
                raise DataError(
                    f"column {column!r} ({role}) is missing from some of the files, or its type "
                    "differs between them; write them with one schema"
                )
        self.run("SET preserve_insertion_order = true")
        if isinstance(rows, Scan):
            self._store_scan(name, rows, picks)
        else:
            self._store_stream(name, rows.batches(picks), picks)

    def _store_scan(self, name: str, rows: Scan, picks: Picks) -> None:
        if rows.table is not None:
            table = rows.table(picks)
            columns = [stored(column) for column in table.columns]
            self._connection.register("given", pa.table(columns, table.column_names))
        try:
            inner = {role: rows.inner.get(column, column) for role, column in picks.items()}
            chosen = self._typed(name, rows.sql, inner, picks)
            self.run(f"CREATE TABLE {name} AS {chosen}")
        except duckdb.Error as error:
            failure = _unreadable(error, untyped=rows.untyped)
        else:
            if rows.table is not None:
                self._connection.unregister("given")
            return
        raise failure

    def _store_stream(self, name: str, batches: Iterator[pa.RecordBatch], picks: Picks) -> None:
        for n, batch in enumerate(batches):
            self._connection.register("given", pa.Table.from_batches([batch]))
            chosen = self._typed(name, "given", {role: role for role in picks}, picks)
            self.run(f"INSERT INTO {name} {chosen}" if n else f"CREATE TABLE {name} AS {chosen}")
            self._connection.unregister("given")
        if name not in self._types:
            raise DataError("the source has no rows")

    def _typed(self, table: str, source: str, inner: Picks, picks: Picks) -> str:
        """A SELECT of the columns by role; refuses types that the role cannot have."""
        columns = {role: '"' + name.replace('"', '""') + '"' for role, name in inner.items()}
        wanted = ", ".join(f"{name} AS {role}" for role, name in columns.items())
        described = self._connection.execute(f"DESCRIBE SELECT {wanted} FROM {source}").fetchall()
        types = {role: str(kind) for role, kind, *_ in described}
        for role, kind in types.items():
            allowed, rule = _RULES[role]
            family = kind.partition("(")[0]
            if family not in allowed or kind.endswith("[]"):
                raise DataError(
                    f"column {picks[role]!r} ({role}) has type {family}, but {rule}"
                    + _HINTS.get(family, "")
                )
            if family in _TEXT:
                columns[role] = f"CAST({columns[role]} AS VARCHAR)"
                types[role] = "VARCHAR"
        self._types[table] = types
        wanted = ", ".join(f"{expression} AS {role}" for role, expression in columns.items())
        return f"SELECT {wanted} FROM {source}"


def is_integer(kind: str) -> bool:
    """Whether a DuckDB type is one of the integers."""
    return kind in _INTEGERS


def _unreadable(error: duckdb.Error, *, untyped: bool) -> DataError:
    """What went wrong, in our words: DuckDB's quote the line."""
    told = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", told)
    if not untyped or line is None:
        return DataError(
            f"the rows cannot be read to the end ({type(error).__name__}): the source is damaged "
            "or truncated, or the disk that holds temporary files is full"
        )
    if "utf-8" in told.casefold():
        return DataError(f"line {line[1]} of the file is not UTF-8 text; convert the file to UTF-8")
    return DataError(
        f"line {line[1]} of the file has another number of fields than the first line, or an "
        "unclosed quote; correct it"
    )
