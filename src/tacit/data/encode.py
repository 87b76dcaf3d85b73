# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""Stored rows as blocks of users with their numbers, some at a time or all as one in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.checks import RATING
from tacit.data.errors import DataError
from tacit.data.sorting import Sorter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from tacit.data.catalogue import Scale
    from tacit.data.options import Options
    from tacit.data.rows import Picks
    from tacit.data.staging import Staging

_ENCODED = "ratings JOIN users ON users.raw = ratings.user JOIN items ON items.raw = ratings.item"


def encode(blocks: Iterable[UserBlock], rows: int, n_items: int) -> UserBlock:
    """All users' blocks, in order, as one; `rows` is how many ratings they have at most."""
    items, values = np.empty(rows, np.int32), np.empty(rows, np.float32)
    lengths, done = [np.zeros(1, np.int64)], 0
    for block in blocks:
        here = slice(done, done + len(block.items))
        items[here], values[here] = block.items, block.values
        lengths.append(np.diff(block.indptr))
        done = here.stop
    # Memory for rows that were left out is given back.
    items.resize(done, refcheck=False)
    values.resize(done, refcheck=False)
    return UserBlock(np.cumsum(np.concatenate(lengths)), items, values, n_items)


def sorted_rows(
    staging: Staging, picks: Picks, options: Options, scale: Scale, n_items: int
) -> Iterator[UserBlock]:
    """All users in the order of their numbers, some at a time, with each item once.

    Raises:
        DataError: pairs repeat that must not, or a disk is full.
    """
    value = "1" if options.binary else RATING
    if options.out_of_scale == "clip":
        value = f"least(greatest({value}, {scale.low!r}), {scale.high!r})"
    columns = f"users.n AS u, items.n AS i, CAST({value} AS FLOAT) AS v"
    if options.needs_timestamp:
        columns = f"{columns}, {_time(staging, picks)} AS t"
    counts = staging.column("SELECT rows FROM users ORDER BY n").to_numpy()
    sorter = Sorter(counts, n_items, staging.folder)
    sorter.add(staging.batches(f"SELECT {columns} FROM {_ENCODED}"))
    for block, times in sorter.parts():
        again = _repeats(block)
        if len(again) and options.duplicates == "refuse":
            raise DataError(_repeated(staging, picks))
        yield _last(block, times, again, picks) if len(again) else block


def _repeats(block: UserBlock) -> NDArray[np.int64]:
    """The ratings that the same user's next one is of the same item as."""
    same = block.items[1:] == block.items[:-1]
    first = block.indptr[1:-1]
    same[first[(first > 0) & (first < len(block.items))] - 1] = False
    return np.flatnonzero(same)


def _last(
    block: UserBlock, times: NDArray[Any] | None, again: NDArray[np.int64], picks: Picks
) -> UserBlock:
    """Of ratings of one item the last; all are alike where they have no times."""
    tied = () if times is None else again[times[again] == times[again + 1]]
    if any(block.values[n] != block.values[n + 1] for n in tied):
        names = ", ".join(repr(picks[role]) for role in ("user", "item", "timestamp"))
        raise DataError(
            f"columns {names}: a user rated an item twice at the same time, so that neither is the "
            "last; remove one of the two rows"
        )
    mask = np.ones(len(block.items), np.bool_)
    mask[again] = False
    return block.keep(mask)


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
