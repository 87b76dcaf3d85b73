# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names of columns and files, never of values)
"""Recommendations for every user of a Parquet file, into another one."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from pyarrow import compute, parquet

from tacit.model.file import replacing
from tacit.serving.columns import pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tacit.model.item_model import ItemModel
    from tacit.serving.catalogue import UnknownItems
    from tacit.serving.rank import Seen

ROWS = 1 << 18
"""Ratings in memory at a time, and more only where one user has more of them."""

_ROLES = ("user", "item", "rating")


def recommend_file(  # noqa: PLR0913 (keywords of a public front door)
    model: ItemModel,
    ratings: str | Path,
    output: str | Path,
    n: int = 10,
    *,
    seen: Seen = "leave out",
    candidates: Iterable[Any] | None = None,
    unknown_items: UnknownItems = "refuse",
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Recommend n items to every user of a Parquet file, in bounded memory.

    Args:
        model: what `tacit.fit` or `tacit.load` gives.
        ratings: a Parquet file, or a folder of them, with rows of user, item and rating in any
            order. Without a rating column every row counts 1, where feedback is implicit.
        output: the Parquet file to write: user, rank (from 1), item, score and title, if the model
            has titles; users in the order of their ids. It appears when it is complete: a kill at
            any moment leaves what was there before.
        n: how many items for each user.
        seen: whether items that a user rated are left out.
        candidates: only these items may be recommended; all if none are given.
        unknown_items: refuse rated items outside the catalogue, or drop these ratings.
        columns: names of the columns, as {"user": ..., "item": ..., "rating": ...}, where they are
            not the usual ones.
        progress: called with the number of users done so far.

    Raises:
        ValueError: the ratings are not as described; `output` is as it was.
        KeyError: items are not in the model's catalogue; `output` is as it was.
    """
    source, output = _files(Path(ratings)), Path(output)
    if output.exists() and output.resolve() in {path.resolve() for path in source}:
        raise ValueError("output would replace the ratings; choose another file")
    done, only = 0, None if candidates is None else list(candidates)
    with _sorted_by_user(source, columns) as reader, replacing(output) as new:
        schema = _schema(model, reader.schema.field("user").type)
        with parquet.ParquetWriter(new, schema, compression="zstd") as writer:
            for table in whole_users(_quietly(reader)):
                found: Any = model.recommend(
                    table, n, seen=seen, candidates=only, unknown_items=unknown_items
                )
                writer.write_table(found.to_arrow().cast(schema))
                done += len(found)
                progress(done)


def whole_users(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Rows that are sorted by user, cut between users only."""
    waiting: pa.Table | None = None
    for table in tables:
        if not len(table):
            continue
        rows = table if waiting is None else pa.concat_tables([waiting, table])
        users = rows["user"].combine_chunks()
        last = users[len(users) - 1]
        # The rows of the last user may go on in the next batch.
        start = compute.index(users, last).as_py()
        waiting = rows.slice(start)
        if start:
            yield rows.slice(0, start)
    if waiting is not None:
        yield waiting


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(p for p in path.rglob("*.parquet") if not p.name.startswith((".", "_")))
    else:
        found = [path] if path.is_file() else []
    if not found:
        raise FileNotFoundError(f"no Parquet file at {str(path)!r}")
    return found


@contextmanager
def _sorted_by_user(
    files: list[Path], columns: Mapping[str, str] | None
) -> Iterator[pa.RecordBatchReader]:
    """The rows in the order of users, sorted on disk where they do not fit into memory."""
    chosen = pick(_column_names(files[0]), columns)
    if "user" not in chosen:
        raise ValueError("no user column: call it user, or name it: columns={'user': ...}")
    picked = ", ".join(
        f'"{chosen[role].replace(chr(34), chr(34) * 2)}" AS "{role}"'
        for role in _ROLES
        if role in chosen
    )
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    query = f'SELECT {picked} FROM read_parquet([{listed}]) ORDER BY "user"'
    with tempfile.TemporaryDirectory(prefix="tacit-recommend-") as folder:
        connection = duckdb.connect(config=_settings(folder))
        connection.execute("SET enable_progress_bar = false")  # it writes to standard output
        try:
            yield _reader(connection.sql(query))
        except duckdb.Error as error:
            kind = type(error).__name__  # its message may quote a row
        else:
            return
        finally:
            connection.close()
    raise ValueError(f"the ratings could not be sorted by user ({kind}); check free disk space")


def _settings(folder: str) -> dict[str, Any]:
    return {
        "memory_limit": "1GB",
        "threads": 2,
        "temp_directory": folder,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
    }


def _reader(relation: Any) -> pa.RecordBatchReader:
    """The rows of a relation, run as they are read; older DuckDB calls it otherwise."""
    run = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    reader: pa.RecordBatchReader = run(ROWS)
    return reader


def _quietly(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The batches, with users checked; what goes wrong is told without quoting a row."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            kind = type(error).__name__
        else:
            table = pa.Table.from_batches([batch])
            if table["user"].null_count:
                raise ValueError("some rows have no user; remove them")
            yield table
            continue
        raise ValueError(f"the ratings could not be read ({kind}); check the file and free space")


def _column_names(path: Path) -> list[str]:
    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError):
        pass  # what the library says may quote the file
    raise ValueError(f"{str(path)!r} is not a whole Parquet file; write or copy it again")


def _schema(model: ItemModel, user: pa.DataType) -> pa.Schema:
    """The columns of the output; users keep their type."""
    plain = user.value_type if pa.types.is_dictionary(user) else user
    item = pa.string() if model.item_ids.dtype == object else pa.int64()
    fields = [("user", plain), ("rank", pa.int32()), ("item", item), ("score", pa.float64())]
    if model.titles is not None:
        fields.append(("title", pa.string()))
    return pa.schema(fields)
