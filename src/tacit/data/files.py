# SPDX-License-Identifier: Apache-2.0
"""Files: told apart by what is in them, not by what they are called."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

from tacit.data.errors import DataError
from tacit.data.grouped import layout_of, open_grouped
from tacit.data.rows import Scan
from tacit.data.text import open_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.data.rows import Rows

_MAGIC = {
    b"PAR1": "parquet",
    b"SQLite format 3\0": "sqlite",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
}
_NOT_READ = {
    "arrow": "an Arrow IPC file; open it with pyarrow.ipc and pass the table",
    "zip": "a zip archive (or a spreadsheet); unpack it, or save it as CSV or Parquet",
}


def kind_of(path: Path) -> str:
    """What the first bytes say: parquet, sqlite, duckdb, arrow, zip, empty, else text."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"cannot open {str(path)!r}: {error.strerror}") from None
    if not head:
        return "empty"
    if head[8:12] == b"DUCK":
        return "duckdb"
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "text")


def open_file(name: str | Path, *, catalogue: bool = False) -> Rows:
    """A text file, a Parquet file, folder or pattern, or text with headers (`data.grouped`)."""
    path = Path(name).expanduser()
    found = paths_of(path)
    if path.is_dir() and not found:
        raise DataError(f"folder {str(path)!r} holds no .parquet file")
    if not found:
        raise DataError(_missing(path))
    layout = None if catalogue else layout_of(found[0])
    if layout is not None:
        return open_grouped(found, layout)
    if found != [path]:
        return _open_parquet(found)
    kind = kind_of(path)
    if kind == "parquet" or (kind != "empty" and path.suffix == ".parquet"):
        return _open_parquet([path])
    if kind == "empty":
        raise DataError(f"{str(path)!r} is empty")
    if kind in ("sqlite", "duckdb"):
        raise DataError(f"{str(path)!r} is a database: say which rows, query='SELECT ...'")
    if kind in _NOT_READ:
        raise DataError(f"{str(path)!r} is {_NOT_READ[kind]}")
    return open_text(path, catalogue=catalogue)


def paths_of(path: Path) -> list[Path]:
    """The file itself, the Parquet files of a folder, or what matches a pattern."""
    if path.is_dir():
        return sorted(p for p in path.rglob("*.parquet") if not p.name.startswith((".", "_")))
    if path.exists():
        return [path]
    return [Path(p) for p in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute patterns)


def _missing(path: Path) -> str:
    """No such file, and which of its neighbours may be meant."""
    folder = path.parent
    if not folder.is_dir():
        return f"no file {str(path)!r}: there is no folder {str(folder)!r}"
    near = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    hint = f"; did you mean {str(folder / near[0])!r}?" if near else ""
    return f"no file {str(path)!r}{hint}"


def _open_parquet(paths: Sequence[Path]) -> Scan:
    """Parquet files with the same columns, as one table, in the order given."""
    schemas = [_schema(path) for path in paths]
    first = schemas[0]
    clashing = {
        name
        for schema in schemas[1:]
        for name in {*first.names, *schema.names}
        if _types(schema, name) != _types(first, name)
    }
    listed = ", ".join(quoted(str(path)) for path in paths)
    return Scan(
        columns=first.names,
        sql=f"read_parquet([{listed}], hive_partitioning = false)",
        clashing=frozenset(clashing),
    )


def _types(schema: pa.Schema, name: str) -> list[pa.DataType]:
    return [schema.field(i).type for i in schema.get_all_field_indices(name)]


def _schema(path: Path) -> pa.Schema:
    """Read from the end of the file, so that a truncated one is found at once."""
    try:
        return pyarrow.parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        pass  # what the library says may quote the file
    raise DataError(
        f"{str(path)!r} is not a whole Parquet file: it is truncated or damaged, or something "
        "else; write or copy it again"
    )


def quoted(text: str) -> str:
    """As a literal in SQL."""
    return "'" + text.replace("'", "''") + "'"
