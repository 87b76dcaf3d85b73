# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""Ids become numbers: users in the order of their ids, items in the order of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tacit.data.errors import DataError
from tacit.data.staging import is_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.staging import Staging

    IdArray = NDArray[np.int64] | NDArray[np.object_]

MOST_IDS = 2**31
"""Items and users are numbered by 32-bit integers from 0."""

_BIGINT = "TRY_CAST(raw AS BIGINT)"


@dataclass(frozen=True, slots=True)
class Ids:
    """The different ids of one column, as `raw` in `table`, and how many `rows` each has.

    text: they come from a file that says no types, so that they may be integers or strings.
    integers: they are integers, or all written as one writes an integer.
    """

    table: str
    text: bool
    integers: bool

    @property
    def key(self) -> str:
        """What they are sorted by, in SQL."""
        return "CAST(raw AS BIGINT)" if self.integers else "raw"


def distinct(staging: Staging, source: str, role: Literal["user", "item"], *, untyped: bool) -> Ids:
    """The different ids of a column, checked to be of one type."""
    table = f"{source}_{role}s"
    staging.run(
        f"CREATE TABLE {table} AS SELECT {role} AS raw, count(*) AS rows FROM {source} GROUP BY ALL"
    )
    check_count(staging.value(f"SELECT count(*) FROM {table}"), role)
    if is_integer(staging.type_of(source, role)):
        if staging.value(f"SELECT count(*) FROM {table} WHERE {_BIGINT} IS NULL"):
            raise DataError(f"some {role} ids are beyond 64-bit integers; make all of them strings")
        return Ids(table, text=False, integers=True)
    integers = untyped and staging.value(
        f"SELECT bool_and(coalesce(CAST({_BIGINT} AS VARCHAR) = raw, false)) FROM {table}"
    )
    if untyped and not integers:
        _refuse_two_spellings(staging, table, role)
    return Ids(table, text=untyped, integers=bool(integers))


def check_count(count: int, role: str) -> None:
    """Numbers of 32 bits have to suffice."""
    if count > MOST_IDS:
        raise DataError(
            f"more than {MOST_IDS} {role}s, the most that can be numbered; drop the rarest"
        )


def _refuse_two_spellings(staging: Staging, table: str, role: str) -> None:
    """In a text file 7, 07 and 7.0 are most likely one id that passed through several types."""
    parts = (
        r"regexp_extract(trim(raw), '^[+]?(-?)0*([0-9]+?)(\.0*)?$', ['sign', 'digits', 'zeros'])"
    )
    most = staging.value(
        f"SELECT max(spellings) FROM (SELECT count(*) AS spellings FROM (SELECT {parts} AS number "
        f"FROM {table}) WHERE number.digits <> '' GROUP BY number.sign, number.digits)"
    )
    if most is not None and most > 1:
        raise DataError(
            f"some {role} ids differ only by type, such as 7, 07 and 7.0; write each id in one way"
        )


def number(staging: Staging, ids: Ids, table: str) -> None:
    """Create `table`: for each raw id its number `n`, in sorted order (strings by their bytes)."""
    staging.run(
        f"CREATE TABLE {table} AS SELECT raw, rows, "
        f"CAST(row_number() OVER (ORDER BY {ids.key}) - 1 AS INTEGER) AS n FROM {ids.table}"
    )


def number_range(staging: Staging, count: int, role: str, table: str) -> None:
    """The same for ids that are numbers already, rated or not."""
    check_count(count, role)
    staging.run(
        f"CREATE TABLE {table} AS SELECT range AS raw, coalesce(rows, 0) AS rows, "
        f"CAST(range AS INTEGER) AS n FROM range({count}) LEFT JOIN "
        f"(SELECT {role}, count(*) AS rows FROM ratings GROUP BY {role}) ON {role} = range"
    )


def id_array(staging: Staging, sql: str, *, integers: bool) -> IdArray:
    """The ids that a query gives, as one array."""
    column: Any = staging.column(sql)
    if integers:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
