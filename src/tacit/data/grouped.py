# SPDX-License-Identifier: Apache-2.0
"""Text in which a line names the movie, or the user, of all rows up to the next such line.

Two published sets come so. The Netflix prize: "1:" before the customers, ratings and dates of movie
1. Yahoo! Music (KDD Cup 2011): "0|12" before the 12 items of user 0, with scores and times.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tacit.data.errors import DataError
from tacit.data.frames import in_large_batches
from tacit.data.rows import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tacit.data.rows import Picks

_BLOCK = 1 << 24  # bytes of text at a time


@dataclass(frozen=True, slots=True)
class Layout:
    """owner: what a header names. fields: of a row; those without a name are not wanted.

    header: its `name` is the owner; its `count`, if there is one, how many rows follow.
    """

    owner: str
    header: str
    delimiter: str
    fields: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return [self.owner, *filter(None, self.fields)]


LAYOUTS = (
    Layout("item", r"^(?P<name>[0-9]+):(?P<count>)$", ",", ("user", "rating", "")),
    Layout("user", r"^(?P<name>[0-9]+)\|(?P<count>[0-9]+)$", "\t", ("item", "rating", "", "")),
)


def layout_of(path: Path) -> Layout | None:
    """The layout that the first line has, if it has one of them."""
    try:
        with _open(path) as file:
            line = bytes(file.readline(100)).decode("ascii", "replace").rstrip("\r\n")
    except (EOFError, OSError):
        return None
    return next((each for each in LAYOUTS if re.match(each.header, line)), None)


def open_grouped(paths: Sequence[Path], layout: Layout) -> Stream:
    """These files one after the other; every header and every row is checked on the way."""

    def batches(picks: Picks) -> Iterator[pa.RecordBatch]:
        every = (batch for path in paths for batch in _Parser(path, layout).batches())
        for batch in in_large_batches(every):
            columns = [batch.column(name) for name in picks.values()]
            yield pa.RecordBatch.from_arrays(columns, list(picks))

    return Stream(layout.columns, batches)


@dataclass(slots=True)
class _Parser:
    """One file, a part at a time; the last header of a part goes on into the next one.

    line: number of the part's first line. owner, since: of the last header, its name and line.
    due: how many more rows it announced, or -1 if it announced nothing.
    """

    path: Path
    layout: Layout
    line: int = 1
    owner: int = 0
    since: int = 0
    due: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        for lines in self._parts():
            headers = np.asarray(pc.match_substring_regex(lines, self.layout.header), bool)
            owners = self._owners(lines, np.flatnonzero(headers))
            columns = self._fields(lines, np.flatnonzero(~headers))
            yield pa.RecordBatch.from_arrays([pa.array(owners), *columns], self.layout.columns)
            self.line += len(lines)
        if self.due > 0:
            raise self._miscounted(self.since)

    def _parts(self) -> Iterator[Any]:
        """The lines of the file, as they are."""
        try:
            with _open(self.path) as file:
                yield from (
                    batch.column(0)
                    for batch in csv.open_csv(
                        file,
                        csv.ReadOptions(block_size=_BLOCK, column_names=["line"]),
                        csv.ParseOptions(
                            delimiter="\x01", quote_char=False, ignore_empty_lines=False
                        ),
                        csv.ConvertOptions(column_types={"line": pa.string()}),
                    )
                )
        except (pa.ArrowException, EOFError, OSError):
            failure = DataError(f"{str(self.path)!r} cannot be read to its end as lines of text")
        else:
            return
        raise failure

    def _owners(self, lines: Any, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Whose each row is, with headers at these places, which must have as many as they say."""
        found = pc.extract_regex(lines.take(pa.array(at)), self.layout.header)
        names = self._integers(found.field("name"), at)
        counts = found.field("count")
        announced = np.full(len(at), -1)
        if len(at) and counts[0].as_py():
            announced = self._integers(counts, at)
        owners = np.append(self.owner, names)
        due = np.append(self.due, announced)
        since = np.append(self.since, self.line + at)
        lengths = np.diff(np.concatenate([[-1], at, [len(lines)]])) - 1
        left = np.where(due < 0, 0, due - lengths)
        wrong = left != 0
        wrong[-1] = left[-1] < 0  # the next part may bring what is missing
        if wrong.any():
            raise self._miscounted(int(since[np.argmax(wrong)]))
        self.owner, self.since = int(owners[-1]), int(since[-1])
        self.due = -1 if due[-1] < 0 else int(left[-1])
        return np.repeat(owners, lengths)

    def _fields(self, lines: Any, at: NDArray[np.int64]) -> list[Any]:
        """The wanted fields of the rows at these places, as integers."""
        parts = pc.split_pattern(lines.take(pa.array(at)), self.layout.delimiter)
        width = len(self.layout.fields)
        wrong = np.asarray(pc.list_value_length(parts)) != width
        if wrong.any():
            line = self.line + at[np.argmax(wrong)]
            raise DataError(
                f"{str(self.path)!r}: line {line} is no header and has not {width} fields"
            )
        flat = parts.flatten()
        return [
            pa.array(self._integers(flat.take(pa.array(np.arange(n, len(flat), width))), at))
            for n, name in enumerate(self.layout.fields)
            if name
        ]

    def _integers(self, texts: Any, at: NDArray[np.int64]) -> NDArray[np.int64]:
        try:
            return np.asarray(pc.cast(texts, pa.int64()))
        except pa.ArrowInvalid:
            pass  # it quotes the row
        right = np.asarray(pc.match_substring_regex(texts, "^-?[0-9]{1,18}$"), bool)
        line = self.line + at[np.argmin(right)]
        raise DataError(f"{str(self.path)!r}: line {line} has something else than whole numbers")

    def _miscounted(self, header: int) -> DataError:
        where = f"the header in line {header}" if header else "the file begins with rows: a header"
        return DataError(
            f"{str(self.path)!r}: {where} does not stand before as many rows as it should; the "
            "file is damaged or cut short"
        )


def _open(path: Path) -> IO[Any]:
    """The bytes, unpacked where they are packed."""
    return cast("IO[Any]", gzip.open(path)) if _is_gzip(path) else path.open("rb")


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
