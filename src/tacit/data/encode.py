# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""Stored rows in the order of users and items, a part at a time; and as one block in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.checks import RATING
from tacit.data.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tacit.data.catalogue import Scale
    from tacit.data.options import Options
    from tacit.data.rows import Picks
    from tacit.data.staging import Staging

_ENCODED = "ratings JOIN users ON users.raw = ratings.user JOIN items ON items.raw = ratings.item"


def encode(
    staging: Staging, picks: Picks, options: Options, scale: Scale, sizes: tuple[int, int, int]
) -> UserBlock:
    """The rows as one block in memory; sizes are those of rows (at most), users and items."""
    filler = _Filler(*sizes[:2])
    for part in sorted_rows(staging, picks, options, scale):
        filler.add(*part)
    return filler.block(sizes[2])


def sorted_rows(
    staging: Staging, picks: Picks, options: Options, scale: Scale
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]]:
    """User, item and value in the order of users and items, each pair once, a part at a time.

    Raises DataError, at the latest after the last part, where pairs repeat that must not.
    """
    value = "1" if options.binary else RATING
    if options.out_of_scale == "clip":
        value = f"least(greatest({value}, {scale.low!r}), {scale.high!r})"
    columns, order = f"users.n AS u, items.n AS i, CAST({value} AS FLOAT) AS v", "u, i"
    if options.needs_timestamp:
        columns, order = f"{columns}, {_time(staging, picks)} AS t", "u, i, t, v"
    once = _Once()
    for batch in staging.batches(f"SELECT {columns} FROM {_ENCODED} ORDER BY {order}"):
        u, i, v, *times = (np.asarray(column) for column in batch.columns)
        # Sorted rows go to disk: no time is sorted along where none is looked at.
        yield once.add(u, i, v, times[0] if times else np.zeros(len(u), np.int8))
    if once.held is not None:
        u, i, v, _ = once.held
        yield u, i, v
    if once.repeated and options.duplicates == "refuse":
        raise DataError(_repeated(staging, picks))
    if once.tied:
        names = ", ".join(repr(picks[role]) for role in ("user", "item", "timestamp"))
        raise DataError(
            f"columns {names}: a user rated an item twice at the same time, so that neither is the "
            "last; remove one of the two rows"
        )


def _repeated(staging: Staging, picks: Picks) -> str:
    """Where the first row is that repeats an earlier pair."""
    nth = "row_number() OVER (PARTITION BY users.n, items.n ORDER BY ratings.rowid)"
    row = staging.value(
        f"SELECT min(place) FROM (SELECT ratings.rowid AS place, {nth} AS nth FROM {_ENCODED}) "
        "WHERE nth = 2"
    )
    return (
        f"columns {picks['user']!r} and {picks['item']!r}: row {row + 1} repeats the user and item "
        "of an earlier row; remove it, or keep the last by timestamp: duplicates='last'"
    )


def _time(staging: Staging, picks: Picks) -> str:
    """The timestamp as a number, in SQL."""
    kind = staging.type_of("ratings", "timestamp")
    ways = {
        "VARCHAR": ("TRY_CAST(timestamp AS DOUBLE)", "epoch_us(TRY_CAST(timestamp AS TIMESTAMP))"),
        "DOUBLE": ("timestamp",),
        "FLOAT": ("timestamp",),
        "TIMESTAMP_NS": ("epoch_ns(timestamp)",),
        "DATE": ("epoch_us(CAST(timestamp AS TIMESTAMP))",),
    }
    plain = (
        "epoch_us(timestamp)" if kind.startswith("TIMESTAMP") else "TRY_CAST(timestamp AS BIGINT)"
    )
    first = None
    for way in ways.get(kind, (plain,)):
        bad = (
            f"{way} IS NULL"
            if kind not in ("DOUBLE", "FLOAT")
            else f"NOT coalesce(isfinite({way}), false)"
        )
        row = staging.value(f"SELECT min(rowid) FROM ratings WHERE {bad}")
        if row is None:
            return way
        first = row if first is None else max(first, row)
    raise DataError(
        f"column {picks['timestamp']!r} (timestamp): row {(first or 0) + 1} is neither a number "
        "nor a date; correct it, or remove repeated rows and read without it"
    )


class _Once:
    """Of rows with the same pair the last one stays; the last row waits for what comes after."""

    def __init__(self) -> None:
        self.repeated = False
        self.tied = False
        self.held: _Columns | None = None

    def add(
        self, u: NDArray[Any], i: NDArray[Any], v: NDArray[Any], t: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """What is settled of rows that come after all so far, in the order of u, i, t and v."""
        if self.held is not None:
            u, i, v, t = (
                np.concatenate(pair) for pair in zip(self.held, (u, i, v, t), strict=True)
            )
        again = (u[1:] == u[:-1]) & (i[1:] == i[:-1])
        self.held = (u[-1:], i[-1:], v[-1:], t[-1:])
        if not again.any():
            return u[:-1], i[:-1], v[:-1]
        self.repeated = True
        self.tied |= bool(np.any(again & (t[1:] == t[:-1]) & (v[1:] != v[:-1])))
        kept = np.flatnonzero(~again)
        return u[kept], i[kept], v[kept]


_Columns = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]


@dataclass(slots=True, repr=False, eq=False)
class _Filler:
    """Arrays of the block, filled in order."""

    rows: int
    n_users: int
    filled: int = 0
    items: NDArray[np.int32] = field(init=False)
    values: NDArray[np.float32] = field(init=False)
    counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.items = np.empty(self.rows, np.int32)
        self.values = np.empty(self.rows, np.float32)
        self.counts = np.zeros(self.n_users, np.int64)

    def add(self, u: NDArray[Any], i: NDArray[Any], v: NDArray[Any]) -> None:
        """Rows that come after all rows added so far."""
        end = self.filled + len(u)
        self.items[self.filled : end] = i
        self.values[self.filled : end] = v
        if len(u):
            low = int(u[0])
            found = np.bincount(u - low)
            self.counts[low : low + len(found)] += found
        self.filled = end

    def block(self, n_items: int) -> UserBlock:
        """What was added; memory for rows that were left out is given back."""
        self.items.resize(self.filled, refcheck=False)
        self.values.resize(self.filled, refcheck=False)
        indptr = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        return UserBlock(indptr, self.items, self.values, n_items)
