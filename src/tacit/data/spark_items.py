# SPDX-License-Identifier: Apache-2.0
"""The catalogue beside a Spark DataFrame: listed by the caller, or the items of the DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tacit.data.catalogue import Catalogue
from tacit.data.errors import DataError
from tacit.data.listing import SOURCE, listed_apart
from tacit.data.numbering import check_count

if TYPE_CHECKING:
    from tacit.data.options import Options


def catalogue_of(rows: Any, options: Options) -> tuple[Catalogue, Any]:
    """The catalogue, and the rows with items as numbers, null where they are not in it."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    integers = str(rows.schema["item"].dataType.simpleString()) == "bigint"
    listing = listed_apart(options, integers=integers)
    catalogue = _seen(rows, integers=integers) if listing is None else listing
    known = _numbers(rows, catalogue, integers=integers)
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


def _numbers(rows: Any, catalogue: Catalogue, *, integers: bool) -> Any:
    """A DataFrame of item and its number n."""
    ids = pa.array(catalogue.ids.tolist(), pa.int64() if integers else pa.string())
    n = pa.array(np.arange(len(catalogue), dtype=np.int32))
    return rows.sparkSession.createDataFrame(pa.table({"item": ids, "n": n}))


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
    strangers = users.join(F.broadcast(ids), "id", "left_anti")
    return bool(strangers.agg(F.count(F.lit(1)) == 0).first()[0])
