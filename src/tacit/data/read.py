# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S608 (SQL here is made of names and numbers of this package, never of values)
"""From a file, a table, a matrix or a query to `Ratings`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from tacit.data.checks import check_values, settle_scale
from tacit.data.columns import need, pick
from tacit.data.databases import POSTGRESQL, SQLITE, open_database, open_relation
from tacit.data.encode import encode, sorted_rows
from tacit.data.errors import DataError
from tacit.data.files import open_file
from tacit.data.frames import library_of, open_frame, open_matrix
from tacit.data.levels import as_levels, declared
from tacit.data.listing import number_items, store_listing
from tacit.data.numbering import distinct, id_array, number, number_range
from tacit.data.options import Options
from tacit.data.prepared import is_prepared, open_prepared
from tacit.data.preparing import prepared
from tacit.data.ratings import Ratings
from tacit.data.rows import Matrix, Stream
from tacit.data.size import is_large
from tacit.data.spark import is_frame, read_frame
from tacit.data.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.data.numbering import IdArray
    from tacit.data.rows import Picks, Rows


def read(  # noqa: PLR0913 (keywords of the public front door)
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    timestamp: str | None = None,
    privacy: str | None = None,
    privacy_unit: Literal["level", "epsilon"] = "level",
    query: str | None = None,
    items: Any = "source",
    unknown_items: Literal["refuse", "drop"] = "refuse",
    duplicates: Literal["refuse", "last"] = "refuse",
    scale: tuple[float, float] | None = None,
    out_of_scale: Literal["refuse", "clip"] = "refuse",
    feedback: Literal["explicit", "implicit"] = "explicit",
    user_axis: Literal["rows", "columns"] | None = None,
    stream: bool | Literal["auto"] = False,
    keep: str | Path | None = None,
) -> Ratings:
    """Read ratings, check them and group them by user.

    Args:
        source: a CSV, TSV or MovieLens file; a Parquet file, folder or pattern; an Arrow, pandas or
            polars table; a SciPy sparse matrix; a Spark DataFrame; a DuckDB relation; or, with
            `query`, a DuckDB connection, a DuckDB or SQLite file, `sqlite:///path` or a
            `postgresql://` URL. The folder of an earlier `keep` is opened again as it is.
        user: name of the user column; found by its usual names otherwise, as are the next three
            and `privacy`.
        item: name of the item column.
        rating: name of the rating column. With implicit feedback it is used only if named.
        timestamp: name of the column that orders duplicates.
        privacy: name of the column in which users declare their own privacy, if there is one. A
            user says it on any of her rows; who says nothing gets what all get.
        privacy_unit: whether that is a "level" from 0 to 1, by which all that she adds is scaled,
            or the "epsilon" that she grants, of which her level follows from the budget.
        query: a SELECT statement; its result is the source.
        items: the public catalogue: a file or table (with titles, if it has them) or a list of ids.
            "source" declares that every item of this source is public knowledge.
        unknown_items: refuse a source that rates items outside the catalogue, or drop these rows.
        duplicates: refuse two rows of one user and item, or keep the last by timestamp.
        scale: the public range of a rating. Without it the narrowest usual scale that fits is
            taken, and the privacy statement names that as an assumption.
        out_of_scale: refuse ratings outside the declared scale, or clip them to it.
        feedback: "explicit" ratings, or "implicit": every row counts 1, or what `rating` names.
        user_axis: of a sparse matrix, whether its rows or its columns are the users.
        stream: leave the rows on disk, sorted by user, for trainings that read them again and again
            in bounded memory; "auto" does so where they would fill too much of it (`SHARE`).
        keep: a new folder for the rows on disk; a temporary one, deleted when the ratings are, if
            none is given. Whoever can open it reads the ratings: it gets mode 0700.

    Returns:
        All users' rows; users in the order of their ids, items in the order of the catalogue. The
        rows of a Spark DataFrame stay on its cluster.

    Raises:
        DataError: the source is not as described; names column, row and rule, and no user's value.

    Example:
        >>> import pyarrow
        >>> read(pyarrow.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [5, 3, 4]}))
        Ratings(users=2, items=2, scale=1 to 5, <private rows>)
    """
    try:
        return _read(
            source,
            Options(
                user=user,
                item=item,
                rating=rating,
                timestamp=timestamp,
                privacy=privacy,
                privacy_unit=privacy_unit,
                query=query,
                items=items,
                unknown_items=unknown_items,
                duplicates=duplicates,
                scale=scale,
                out_of_scale=out_of_scale,
                feedback=feedback,
                user_axis=user_axis,
            ),
            stream=stream is True or keep is not None or (stream == "auto" and is_large(source)),
            keep=keep,
        )
    except DataError as error:
        failure = DataError(str(error))
    except (duckdb.Error, pa.ArrowException) as error:
        kind = f"{type(error).__module__}.{type(error).__name__}"
        failure = DataError(
            f"the source could not be read ({kind}); its message is withheld because it may quote "
            "a row. Check free disk space for temporary files, then the source with its own tools"
        )
    # Raised here, outside the handlers and afresh: neither a chained error nor a frame of the
    # traceback leads back to rows.
    raise failure


def _read(source: Any, options: Options, *, stream: bool, keep: str | Path | None) -> Ratings:
    if is_prepared(source):
        return _reopened(Path(source).expanduser(), options, keep)
    if is_frame(source):
        if keep is not None:
            raise DataError("keep= is for rows on this machine; cache or write the DataFrame")
        return read_frame(source, options, _choose(source.columns, options))
    with ExitStack() as exits:
        staging = exits.enter_context(Staging())
        listing = store_listing(staging, options)
        rows = _open(source, options, None if listing is None else listing.size)
        if isinstance(rows, Stream):
            exits.callback(rows.close)
        picks = _choose(rows.columns, options)
        staging.store("ratings", rows, picks)
        found = check_values(staging, picks)
        scale = replace(settle_scale(staging, picks, found, options), feedback=options.feedback)
        n_users, integers = _number_users(staging, rows)
        catalogue = number_items(staging, rows, listing, options)
        own = declared(staging, picks, options, n_users)
        levels = as_levels(own) if own is not None and options.privacy_unit == "level" else None
        blocks = sorted_rows(staging, picks, options, scale, len(catalogue))
        if stream:
            if own is not None and levels is None:
                raise DataError(_LEVELS_ONLY)
            return prepared(keep, _leveled(blocks, levels), n_users, catalogue, scale)
        block = encode(blocks, found.rows, len(catalogue))
        own = own if levels is None else None
        users = _user_ids(staging, integers=integers)
        return Ratings(replace(block, levels=levels), users, catalogue, scale, own)


_LEVELS_ONLY = (
    "privacy_unit='epsilon' needs the rows in memory, because levels follow from the plan of a "
    "training; declare levels, or read without stream="
)


def _reopened(folder: Path, options: Options, keep: str | Path | None) -> Ratings:
    """What an earlier reading left; how it was read cannot be changed any more."""
    if options.given or keep is not None:
        names = ", ".join(f"{name}=" for name in [*options.given, *(["keep"] if keep else [])])
        raise DataError(f"{str(folder)!r} holds rows that are read already: leave out {names}")
    return open_prepared(folder)


def _open(source: Any, options: Options, catalogue_size: int | None) -> Rows:
    is_matrix = library_of(source) == "scipy" and hasattr(source, "tocoo")
    if options.user_axis is not None and not is_matrix:
        raise DataError("user_axis= goes with a sparse matrix; name columns by user= and item=")
    if options.query is not None:
        return open_database(source, options.query)
    if isinstance(source, str) and source.startswith((*POSTGRESQL, SQLITE)):
        raise DataError("a database needs to be told which rows: query='SELECT ...'")
    if isinstance(source, duckdb.DuckDBPyConnection):
        raise DataError("a DuckDB connection needs to be told which rows: query='SELECT ...'")
    if isinstance(source, duckdb.DuckDBPyRelation):
        return open_relation(source)
    if isinstance(source, (str, Path)):
        return open_file(source)
    if isinstance(source, Stream):
        return source
    if is_matrix:
        return open_matrix(source, options.user_axis, catalogue_size)
    rows = open_frame(source)
    if rows is None:
        raise DataError(
            f"cannot read a {type(source).__name__}; give a path, an Arrow, pandas, polars "
            "or Spark table, a SciPy sparse matrix, or a database with query="
        )
    return rows


def _choose(columns: Sequence[str], options: Options) -> Picks:
    """Which column plays which role; roles that are not needed are left out."""
    picks = {role: need(columns, role, getattr(options, role)) for role in ("user", "item")}
    if options.feedback == "explicit" or options.rating is not None:
        picks["rating"] = need(columns, "rating", options.rating)
    if options.needs_timestamp:
        picks["timestamp"] = need(columns, "timestamp", options.timestamp)
    elif options.timestamp is not None:
        pick(columns, "timestamp", options.timestamp)
    if (found := pick(columns, "privacy", options.privacy)) is not None:
        picks["privacy"] = found
    if len(set(picks.values())) < len(picks):
        raise DataError(
            "one column is named for two roles; user, item and rating are three columns"
        )
    return picks


def _number_users(staging: Staging, rows: Rows) -> tuple[int, bool]:
    """Create table `users` (raw id, number); how many there are, and whether ids are integers."""
    if isinstance(rows, Matrix):
        number_range(staging, rows.n_users, "user", "users")
        integers = True
    else:
        ids = distinct(staging, "ratings", "user", untyped=rows.untyped)
        number(staging, ids, "users")
        integers = ids.integers
    n_users = staging.value("SELECT count(*) FROM users")
    if n_users < 2:
        raise DataError(
            "the source has one user only; joint differential privacy hides one user among others: "
            "check which column is the user's"
        )
    return n_users, integers


def _leveled(
    blocks: Iterable[UserBlock], levels: NDArray[np.float32] | None
) -> Iterator[UserBlock]:
    """The blocks with the levels of their users."""
    done = 0
    for block in blocks:
        own = None if levels is None else levels[done : done + block.n_users]
        yield replace(block, levels=own)
        done += block.n_users


def _user_ids(staging: Staging, *, integers: bool) -> IdArray:
    """The users' ids in the order of their numbers."""
    kind = "BIGINT" if integers else "VARCHAR"
    return id_array(staging, f"SELECT CAST(raw AS {kind}) FROM users ORDER BY n", integers=integers)
