# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""The catalogue: what the caller lists, and how the rated items match it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from tacit.data.catalogue import Catalogue
from tacit.data.columns import need, pick
from tacit.data.errors import DataError
from tacit.data.files import open_file
from tacit.data.frames import open_frame
from tacit.data.numbering import distinct, id_array, number, number_range
from tacit.data.rows import Matrix, Scan, Stream
from tacit.data.staging import Staging

if TYPE_CHECKING:
    from tacit.data.numbering import Ids
    from tacit.data.options import Options
    from tacit.data.rows import Rows

SOURCE: Literal["source"] = "source"
_TYPES_DIFFER = (
    "item ids are strings in the ratings and integers in the catalogue, or the other way round: "
    "ids that differ only by type; convert one of them"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A catalogue given apart from the ratings, stored as table `catalogue`."""

    ids: Ids
    size: int
    titled: bool


def store_listing(staging: Staging, options: Options) -> Listing | None:
    """Store and check the catalogue; None where the source's own items are declared public."""
    if isinstance(options.items, str) and options.items == SOURCE:
        return None
    rows = _open(options.items)
    try:
        return _store(staging, rows, options.item)
    except DataError as error:
        failure = DataError(f"catalogue (items=): {error}")
    finally:
        if isinstance(rows, Stream):
            rows.close()
    raise failure


def _open(items: Any) -> Rows:
    if isinstance(items, (str, Path)):
        return open_file(items, catalogue=True)
    if isinstance(items, Catalogue):
        columns = {"item": _array(items.ids)}
        if items.titles is not None:
            columns["title"] = pa.array(items.titles, pa.string())
        return _table(pa.table(columns))
    if isinstance(items, (list, tuple, range, np.ndarray, pa.Array, pa.ChunkedArray)):
        return _table(pa.table({"item": _array(items)}))
    rows = open_frame(items)
    if rows is None:
        raise DataError(
            f"items= cannot be a {type(items).__name__}: give 'source', a file, a table or a "
            "list of ids"
        )
    return rows


def _table(table: pa.Table) -> Scan:
    return Scan(table.column_names, "given", lambda picks: table.select(list(picks.values())))


def _array(ids: Any) -> Any:
    try:
        return ids if isinstance(ids, (pa.Array, pa.ChunkedArray)) else pa.array(ids)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # what the library says quotes a value
    raise DataError("catalogue (items=): ids must be all integers or all strings")


def _store(staging: Staging, rows: Rows, named: str | None) -> Listing:
    named = named if named in rows.columns else None
    item = pick(rows.columns, "item", named) or pick(rows.columns, "id")
    item = item or need(rows.columns, "item")
    title = pick([name for name in rows.columns if name != item], "title")
    picks = {"item": item} if title is None else {"item": item, "title": title}
    staging.store("catalogue", rows, picks)
    size = staging.value("SELECT count(*) FROM catalogue")
    if size == 0:
        raise DataError("it lists no items")
    missing = staging.value("SELECT min(rowid) FROM catalogue WHERE item IS NULL")
    if missing is not None:
        raise DataError(f"column {item!r} (item): row {missing + 1} has no value; remove it")
    ids = distinct(staging, "catalogue", "item", untyped=rows.untyped)
    if staging.value(f"SELECT count(*) FROM {ids.table}") < size:
        raise DataError("it lists an item more than once; remove the repeated rows")
    return Listing(ids, size, titled=title is not None)


def number_items(
    staging: Staging, rows: Rows, listing: Listing | None, options: Options
) -> Catalogue:
    """Create table `items` (raw id, number); the catalogue is in the order of the numbers."""
    if isinstance(rows, Matrix):
        number_range(staging, rows.n_items, "item", "items")
        seen = None
    else:
        seen = distinct(staging, "ratings", "item", untyped=rows.untyped)
    if listing is None:
        if seen is not None:
            number(staging, seen, "items")
        ids = id_array(
            staging, "SELECT raw FROM items ORDER BY n", integers=seen is None or seen.integers
        )
        return Catalogue(ids, SOURCE)
    if seen is not None:
        _match(staging, seen, listing, options)
    strings = seen is not None and not seen.text and not seen.integers
    return _listed(staging, listing, integers=listing.ids.integers and not strings)


def listed_apart(options: Options, *, integers: bool) -> Catalogue | None:
    """The catalogue for ratings that lie elsewhere, whose item ids are integers or strings."""
    with Staging() as staging:
        listing = store_listing(staging, options)
        if listing is None:
            return None
        if integers != listing.ids.integers and not (listing.ids.text and not integers):
            raise DataError(_TYPES_DIFFER)
        return _listed(staging, listing, integers=integers)


def _listed(staging: Staging, listing: Listing, *, integers: bool) -> Catalogue:
    kind = "BIGINT" if integers else "VARCHAR"
    ids = id_array(
        staging, f"SELECT CAST(item AS {kind}) FROM catalogue ORDER BY rowid", integers=integers
    )
    return Catalogue(ids, "file", _titles(staging) if listing.titled else None)


def _titles(staging: Staging) -> tuple[str, ...]:
    column = staging.column("SELECT coalesce(title, '') FROM catalogue ORDER BY rowid")
    return tuple(str(title) for title in column.to_pylist())


def _match(staging: Staging, seen: Ids, listing: Listing, options: Options) -> None:
    """Number the rated items by the catalogue; unknown ones are refused or stay without."""
    if not (seen.text or listing.ids.text) and seen.integers != listing.ids.integers:
        raise DataError(_TYPES_DIFFER)
    if not seen.text and seen.integers and not listing.ids.integers:
        raise DataError(_TYPES_DIFFER)
    staging.run(
        "CREATE TABLE items AS SELECT seen.raw AS raw, CAST(catalogue.rowid AS INTEGER) AS n "
        f"FROM {seen.table} AS seen JOIN catalogue "
        "ON CAST(catalogue.item AS VARCHAR) = CAST(seen.raw AS VARCHAR)"
    )
    known = staging.value("SELECT count(*) FROM items")
    unknown = staging.value(f"SELECT count(*) FROM {seen.table}") - known
    if unknown > known and _users_are_items(staging):
        raise DataError(
            "the orientation looks wrong: every user id is in the catalogue and most item ids are "
            "not; swap user= and item="
        )
    if known == 0:
        raise DataError(
            "none of the rated items is in the catalogue; check that both use the same ids"
        )
    if unknown and options.unknown_items == "refuse":
        row = staging.value("SELECT min(rowid) FROM ratings ANTI JOIN items ON raw = item") + 1
        raise DataError(
            f"row {row} rates an item that is not in the catalogue; complete the catalogue, or "
            "leave such rows out: unknown_items='drop'"
        )


def _users_are_items(staging: Staging) -> bool:
    """Whether each user id is an id of the catalogue."""
    strangers = (
        "SELECT count(*) FROM (SELECT DISTINCT CAST(user AS VARCHAR) AS id FROM ratings) "
        "ANTI JOIN (SELECT CAST(item AS VARCHAR) AS id FROM catalogue) USING (id)"
    )
    return bool(staging.value(strangers) == 0)
