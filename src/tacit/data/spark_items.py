# SPDX-License-Identifier: Apache-2.0
"""The catalogue beside a Spark DataFrame: listed by the caller, or the items of the DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tacit.data.catalogue import Catalogue
from tacit.data.errors import DataError
from tacit.data.listing import SOURCE, TYPES_DIFFER, listed
from tacit.data.numbering import check_count

if TYPE_CHECKING:
    from tacit.data.options import Options


def catalogue_of(rows: Any, options: Options) -> tuple[Catalogue, Any]:
    """The catalogue, and the rows with items as numbers, null where they are not in it."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    integers = str(rows.schema["item"].dataType.simpleString()) == "bigint"
    listing = listed(options)
    if listing is None:
        catalogue = _seen(rows, integers=integers)
    else:
        catalogue = _typed(listing, integers=integers)
    known = _numbers(rows, catalogue)
    if listing is not None:
        _check_known(rows, known, options)
    numbered = rows.join(F.broadcast(known), "item", "left").drop("item")
    return catalogue, numbered.withColumnRenamed("n", "item")


def _seen(rows: Any, *, integers: bool) -> Catalogue:
    """Every item of the rows, which the caller declares to be public, in the order of their ids."""
    ids = rows.select("item").distinct().toArrow()["item"]
    check_count(len(ids), "item")
    found = sorted(ids.to_pylist())
    return Catalogue(np.array(found, np.int64 if integers else object), SOURCE)


def _typed(listing: Catalogue, *, integers: bool) -> Catalogue:
    """The listing with ids of the type that the rows have."""
    are_integers = listing.ids.dtype != object
    if integers != are_integers:
        raise DataError(TYPES_DIFFER)
    return listing


def _numbers(rows: Any, catalogue: Catalogue) -> Any:
    """A DataFrame of item and its number n."""
    table = {
        "item": pa.array(catalogue.ids.tolist(), pa.int64() if _whole(catalogue) else pa.string()),
        "n": pa.array(np.arange(len(catalogue), dtype=np.int32)),
    }
    return rows.sparkSession.createDataFrame(pa.table(table))


def _whole(catalogue: Catalogue) -> bool:
    return catalogue.ids.dtype != object


def _check_known(rows: Any, known: Any, options: Options) -> None:
    """Some rated items are in the catalogue, all of them unless the others are to be dropped."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    seen = rows.select("item").distinct().join(F.broadcast(known), "item", "left")
    hits, misses = seen.agg(F.count("n"), F.count(F.lit(1)) - F.count("n")).first()
    if misses > hits and _users_are_items(rows, known):
        raise DataError(
            "the orientation looks wrong: every user id is in the catalogue and most item ids are "
            "not; swap user= and item="
        )
    if hits == 0:
        raise DataError(
            "none of the rated items is in the catalogue; check that both use the same ids"
        )
    if misses and options.unknown_items == "refuse":
        raise DataError(
            "a row rates an item that is not in the catalogue; complete the catalogue, or leave "
            "such rows out: unknown_items='drop'"
        )


def _users_are_items(rows: Any, known: Any) -> bool:
    """Whether each user id is an id of the catalogue."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    ids = known.select(F.col("item").cast("string").alias("id"))
    users = rows.select(F.col("user").cast("string").alias("id"))
    return not users.join(F.broadcast(ids), "id", "left_anti").take(1)
