# SPDX-License-Identifier: Apache-2.0
"""Yahoo! Music's sets R1 and R2: user, item and rating in a line, without a header line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tacit.data.errors import DataError
from tacit.data.frames import in_large_batches
from tacit.data.rows import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tacit.data.rows import Picks

NEVER_AGAIN = 255  # R1's "never play again"; here the lowest rating
_SCHEMA = pa.schema({name: pa.int64() for name in ("user", "item", "rating")})


def open_webscope(paths: Sequence[Path]) -> Stream:
    """The rows of these files one after the other."""

    def batches(picks: Picks) -> Iterator[pa.RecordBatch]:
        for batch in in_large_batches(_batches(paths)):
            columns = [batch.column(name) for name in picks.values()]
            yield pa.RecordBatch.from_arrays(columns, list(picks))

    return Stream(_SCHEMA.names, batches)


def _batches(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        try:
            for batch in csv.open_csv(
                path,
                csv.ReadOptions(column_names=_SCHEMA.names),
                csv.ParseOptions(delimiter="\t", quote_char=False),
                csv.ConvertOptions(column_types=_SCHEMA, null_values=[]),
            ):
                ratings = _lowered(batch.column("rating"))
                yield pa.RecordBatch.from_arrays([*batch.columns[:2], ratings], schema=_SCHEMA)
        except (pa.ArrowException, EOFError, OSError):
            pass  # what the library says quotes the line
        else:
            continue
        raise DataError(
            f"{str(path)!r} cannot be read: every line must have a user, an item and a rating, as "
            "whole numbers with tabs between them"
        )


def _lowered(ratings: Any) -> Any:
    never = pc.equal(ratings, pa.scalar(NEVER_AGAIN))
    return pc.if_else(never, pa.scalar(0), ratings)


def artist_names(path: Path) -> pa.Table:
    """R1's catalogue: a number and a name in a line; names have quotes, and letters of Latin-1."""
    lines = path.read_text(encoding="latin-1").splitlines()
    fields = [line.split("\t", 1) for line in lines]
    for number, each in enumerate(fields, start=1):
        if len(each) != 2 or not each[0].removeprefix("-").isdecimal():
            raise DataError(f"{str(path)!r}: line {number} is not an artist's number and name")
    return pa.table({"item": [int(n) for n, _ in fields], "title": [name for _, name in fields]})
