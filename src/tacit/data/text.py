# SPDX-License-Identifier: Apache-2.0
"""Text files: CSV, TSV and the two formats of MovieLens without a header line."""

from __future__ import annotations

import codecs
import csv
import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.errors import DataError
from tacit.data.rows import Scan

if TYPE_CHECKING:
    from pathlib import Path

_RATINGS = ("user", "item", "rating", "timestamp")
_HEADERLESS = {("::", 4): _RATINGS, ("\t", 4): _RATINGS}
"""MovieLens' ratings.dat (1M, 10M) and u.data (100K)."""

_HEADERLESS_CATALOGUE = {
    ("::", 3): ("item", "title", "genres"),
    ("|", 24): ("item", "title", *(f"unused {n}" for n in range(22))),
}
"""MovieLens' movies.dat and u.item."""

_LONGEST_FIRST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str
    fields: list[str]


def open_text(path: Path, *, catalogue: bool = False) -> Scan:
    """Every value as text: which columns are needed decides later what they have to be."""
    encoding = _encoding(path) if catalogue else "utf-8"
    dialect = _dialect(path, encoding)
    columns, header = _columns(path, dialect, catalogue=catalogue)
    inner = [f"c{n}" for n in range(len(columns))]
    quote = '"' if header and dialect.delimiter != "::" else ""
    options = [
        "'" + str(path).replace("'", "''") + "'",
        "auto_detect = false",
        f"delim = '{dialect.delimiter}'",
        f"header = {str(header).lower()}",
        f"quote = '{quote}'",
        f"escape = '{quote}'",
        f"encoding = '{encoding}'",
        f"compression = '{'gzip' if _is_gzip(path) else 'none'}'",
        "columns = {" + ", ".join(f"'{name}': 'VARCHAR'" for name in inner) + "}",
    ]
    return Scan(
        columns=columns,
        sql=f"read_csv({', '.join(options)})",
        inner=dict(zip(columns, inner, strict=True)),
        untyped=True,
    )


def _dialect(path: Path, encoding: str) -> _Dialect:
    """The delimiter, by the first line, and the fields of that line."""
    try:
        with _open(path) as file:
            first = file.readline(_LONGEST_FIRST_LINE).removeprefix(codecs.BOM_UTF8)
            line = first.decode(encoding).rstrip("\r\n")
    except (UnicodeDecodeError, EOFError, OSError):
        line = "\0"
    if "\0" in line:
        raise DataError(f"{str(path)!r} is neither Parquet nor UTF-8 text")
    if "::" in line:
        return _Dialect("::", line.split("::"))
    delimiter = max("\t,;|", key=line.count)
    return _Dialect(delimiter, next(csv.reader([line], delimiter=delimiter), []))


def _columns(path: Path, dialect: _Dialect, *, catalogue: bool) -> tuple[list[str], bool]:
    """Names of the columns, and whether the first line gives them."""
    layouts = _HEADERLESS_CATALOGUE if catalogue else _HEADERLESS
    if not any(_is_number(field) for field in dialect.fields):
        return dialect.fields, True
    known = layouts.get((dialect.delimiter, len(dialect.fields)))
    if known is None:
        wanted = "item,title" if catalogue else "user,item,rating,timestamp"
        raise DataError(
            f"{str(path)!r} has no header line: its first line holds numbers where column names "
            f"are expected; put a line such as {wanted} before it"
        )
    return list(known), False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _open(path: Path) -> gzip.GzipFile:
    """The bytes, unpacked where they are packed."""
    return gzip.open(path) if _is_gzip(path) else path.open("rb")  # type: ignore[return-value]


def _encoding(path: Path) -> str:
    """A catalogue is small enough to try: MovieLens' titles are Latin-1, most others UTF-8."""
    with _open(path) as file:
        try:
            file.read().decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"
