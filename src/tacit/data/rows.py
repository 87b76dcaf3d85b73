# SPDX-License-Identifier: Apache-2.0
"""A source that is opened and not yet read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

Picks = dict[str, str]
"""For each role (user, item, rating, timestamp, title) the column that plays it."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Scan:
    """Rows that DuckDB reads by itself.

    columns: their names in the source.
    sql: what stands after FROM.
    table: gives the object that `sql` calls `given`, from the picked columns, where there is one.
    inner: what SQL calls a column, where that differs from its name.
    untyped: every value is text, because the file says no types.
    clashing: columns that are missing, or have another type, in some of several files.
    """

    columns: Sequence[str]
    sql: str
    table: Callable[[Picks], pa.Table] | None = None
    inner: Mapping[str, str] = field(default_factory=dict)
    untyped: bool = False
    clashing: frozenset[str] = frozenset()


def _nothing() -> None:
    """What most streams have to close."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Stream:
    """Rows that arrive once, as record batches whose columns are named by role.

    close: gives back the connection behind the rows, whether they were read or not.
    """

    columns: Sequence[str]
    batches: Callable[[Picks], Iterator[pa.RecordBatch]]
    close: Callable[[], None] = _nothing
    untyped: bool = False
    clashing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Matrix(Scan):
    """A sparse matrix: its shape says which users and items there are, rated or not."""

    n_users: int = 0
    n_items: int = 0


Rows = Scan | Stream
