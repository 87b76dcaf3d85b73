# SPDX-License-Identifier: Apache-2.0
"""SQL queries against DuckDB, SQLite and PostgreSQL, as streams of record batches."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import pyarrow as pa

from tacit.data.errors import DataError
from tacit.data.files import kind_of
from tacit.data.frames import open_reader
from tacit.data.rows import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.data.rows import Picks

POSTGRESQL = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"
ROWS_AT_ONCE = 1 << 17
CONNECT_SECONDS = 15
"""How long an unreachable PostgreSQL server is waited for, unless the URL says otherwise."""


def open_database(source: object, query: str) -> Stream:
    """The rows of `query`."""
    if isinstance(source, duckdb.DuckDBPyConnection):
        return _open_duckdb(source, query)
    if isinstance(source, str) and source.startswith(POSTGRESQL):
        return _open_postgresql(source, query)
    if isinstance(source, str) and source.startswith(SQLITE):
        return _open_sqlite(Path(source.removeprefix(SQLITE)), query)
    if not isinstance(source, (str, Path)):
        raise DataError(
            "query= goes with a database: a DuckDB connection, the path of a DuckDB or SQLite "
            f"file, or a postgresql:// URL; the source is a {type(source).__name__}"
        )
    path = Path(source).expanduser()
    kind = kind_of(path) if path.exists() else "missing"
    if kind == "sqlite":
        return _open_sqlite(path, query)
    if kind == "duckdb":
        return _open_duckdb_file(path, query)
    what = "does not exist" if kind == "missing" else "is neither a DuckDB nor an SQLite database"
    raise DataError(f"{str(path)!r} {what}; query= goes with a database")


def _failed(error: Exception) -> DataError:
    """A query that its database refused: the database's own words may quote a row."""
    return DataError(
        f"the database refused the query ({type(error).__name__}); "
        "run it in the database's own client to see why"
    )


def _open_duckdb_file(path: Path, query: str) -> Stream:
    """Read only, and with no access to the variables of this program."""
    try:
        connection = duckdb.connect(
            path, read_only=True, config={"python_enable_replacements": "false"}
        )
        connection.execute("SET enable_progress_bar = false")  # it writes to standard output
    except duckdb.Error as error:
        kind = type(error).__name__
    else:
        try:
            return replace(_open_duckdb(connection, query), close=connection.close)
        except DataError:
            connection.close()
            raise
    raise DataError(
        f"cannot open the DuckDB database {str(path)!r} ({kind}); if it is open elsewhere in this "
        "program, pass that connection as the source; if in another, close it there"
    )


def _open_duckdb(connection: duckdb.DuckDBPyConnection, query: str) -> Stream:
    """Rows of a query; runs when they are asked for."""
    try:
        statements = connection.extract_statements(query)
        readable = bool(statements) and statements[-1].type.name in ("SELECT", "MULTI")
        relation = connection.sql(query) if readable else None
    except duckdb.Error as error:
        failure = _failed(error)
    else:
        if relation is not None:
            return open_relation(relation)
        failure = DataError("the query returns no rows: it has to be a SELECT")
    raise failure


def open_relation(relation: duckdb.DuckDBPyRelation) -> Stream:
    """A DuckDB relation, of whichever connection."""

    def batches(picks: Picks) -> Iterator[pa.RecordBatch]:
        wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in picks.values())
        try:
            reader = arrow_reader(relation.project(wanted), ROWS_AT_ONCE)
        except duckdb.Error as error:
            failure = _failed(error)
        else:
            yield from open_reader(reader).batches(picks)
            return
        raise failure

    return Stream(relation.columns, batches)


def arrow_reader(relation: Any, rows: int) -> Any:
    """The rows of a relation, run as they are read; older DuckDB calls it otherwise."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(rows)
    return relation.fetch_arrow_reader(rows)


def _open_postgresql(url: str, query: str) -> Stream:
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 (an extra)
    except ImportError:
        dbapi = None
    if dbapi is None:
        raise DataError("reading from PostgreSQL needs an extra: pip install 'tacit[postgres]'")
    if "connect_timeout" not in url:
        url += f"{'&' if '?' in url else '?'}connect_timeout={CONNECT_SECONDS}"
    try:
        connection = dbapi.connect(url)
    except dbapi.Error as error:
        kind = type(error).__name__
    else:
        return _query_postgresql(connection, query, dbapi.Error)
    raise DataError(
        f"cannot reach the PostgreSQL database ({kind}); check host, port, database and user of "
        "the URL with psql"
    )


def _query_postgresql(connection: Any, query: str, error_type: type[Exception]) -> Stream:
    """Rows of a query, streamed."""
    cursor = connection.cursor()

    def close() -> None:
        cursor.close()
        connection.close()

    try:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
    except (error_type, pa.ArrowException, OSError) as error:
        failure = _failed(error)
    else:
        return replace(open_reader(reader), close=close)
    close()
    raise failure


def _open_sqlite(path: Path, query: str) -> Stream:
    if not path.is_file():
        raise DataError(f"no SQLite database {str(path)!r}")
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    try:
        cursor = connection.execute(query)
    except (sqlite3.Error, sqlite3.Warning) as error:
        connection.close()
        failure = _failed(error)
    else:
        if cursor.description is not None:
            names = [column[0] for column in cursor.description]
            return Stream(names, partial(_sqlite_batches, cursor, names), connection.close)
        connection.close()
        failure = DataError("the query returns no rows: it has to be a SELECT")
    raise failure


def _sqlite_batches(
    cursor: sqlite3.Cursor, names: list[str], picks: Picks
) -> Iterator[pa.RecordBatch]:
    """SQLite types values, not columns: the first row's types hold for the whole column."""
    types: dict[str, type] = {}
    done = 0
    while rows := _next_rows(cursor):
        columns = list(zip(*rows, strict=True))
        arrays = [
            _column(columns[names.index(name)], role, name, types, done)
            for role, name in picks.items()
        ]
        done += len(rows)
        yield pa.RecordBatch.from_arrays(arrays, list(picks))


def _next_rows(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    try:
        return cursor.fetchmany(ROWS_AT_ONCE)
    except sqlite3.Error as error:
        failure = _failed(error)
    raise failure


def _column(
    values: tuple[Any, ...], role: str, name: str, types: dict[str, type], done: int
) -> Any:
    """One column of some rows; a value of another type than the first is an error."""
    if role == "rating" and name not in types:
        types[name] = float
    for n, value in enumerate(values):
        if value is None:
            continue
        wanted = types.setdefault(name, type(value))
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            rule = "not a number" if role == "rating" else "of another type than the rows before it"
            raise DataError(
                f"column {name!r} ({role}): the value of row {done + n + 1} is {rule}; "
                "make the column one type, for instance by CAST in the query"
            )
    if types.get(name) is float:
        values = tuple(None if value is None else float(value) for value in values)
    arrow = {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}
    return pa.array(values, arrow[types.get(name, str)])
