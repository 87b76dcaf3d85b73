# SPDX-License-Identifier: Apache-2.0
"""The rules for the rows of a Spark DataFrame, as aggregates: no row and no number comes back.

The same rules as in `checks`; Spark's rows have no order, so that none can be pointed at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.catalogue import Scale
from tacit.data.errors import DataError
from tacit.data.scales import declare, recognise

if TYPE_CHECKING:
    from tacit.data.options import Options
    from tacit.data.rows import Picks

_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_TEXT = {"string", "void", "varchar", "char"}
_NUMBERS = {*_INTEGERS, "float", "double", "decimal", "boolean"}
_TIMES = {"timestamp", "timestamp_ntz", "date"}
_RULES = {
    "user": (_INTEGERS | _TEXT, "ids are integers or strings"),
    "item": (_INTEGERS | _TEXT, "ids are integers or strings"),
    "rating": (_NUMBERS | _TEXT, "ratings are numbers"),
    "timestamp": (
        _INTEGERS | _TIMES | _TEXT | {"float", "double"},
        "timestamps are numbers or dates",
    ),
    "privacy": (_NUMBERS, "privacy levels are numbers"),
}


def typed(frame: Any, options: Options, picks: Picks) -> Any:
    """The columns user, item and rating, and `timestamp` where rows of a pair need an order."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    columns = []
    for role, name in picks.items():
        quoted = "`" + name.replace("`", "``") + "`"
        column, kind = F.col(quoted), _kind(frame, role, name)
        if role in ("user", "item"):
            column = column.cast("bigint" if kind in _INTEGERS else "string")
        elif role == "timestamp" and kind in _TEXT:
            column = column.cast("string")
        elif role == "privacy":
            column = column.cast("double")
        columns.append(column.alias(role))
    if options.binary:
        columns.append(F.lit(1.0).cast("float").alias("rating"))
    rows = frame.select(*columns)
    if "rating" in picks and _kind(frame, "rating", picks["rating"]) in _TEXT:
        # Beside the text, so that a missing value and a word can be told apart.
        rows = rows.withColumnRenamed("rating", "written")
        return rows.withColumn("rating", F.col("written").cast("string").try_cast("float"))
    return rows.withColumn("rating", F.col("rating").cast("float"))


def _kind(frame: Any, role: str, name: str) -> str:
    """The type of a column; refuses those that its role cannot have."""
    kind = str(frame.schema[name].dataType.simpleString()).partition("(")[0]
    allowed, rule = _RULES[role]
    if kind not in allowed:
        hint = "; say in its source that the bytes are text" if kind == "binary" else ""
        raise DataError(
            f"column {name!r} ({role}) has type {kind.partition('<')[0].upper()}, but {rule}{hint}"
        )
    return kind


def check_rows(rows: Any, options: Options, picks: Picks) -> None:
    """There are rows, ids are there, and ratings and times are what they should be."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    rating = F.col("rating")
    written = F.col("written") if "written" in rows.columns else rating
    rules = [(role, F.col(role).isNull(), "has no value; remove it") for role in ("user", "item")]
    rules += [
        ("rating", written.isNull(), "has no value; remove it, or read with feedback='implicit'"),
        ("rating", rating.isNull(), "is not a number; write it as a number such as 4.5"),
        ("rating", F.isnan(rating) | (F.abs(rating) == float("inf")), "is NaN or infinite; remove"),
    ]
    if options.feedback == "implicit":
        advice = "is negative, but implicit feedback counts from 0; read with feedback='explicit'"
        rules.append(("rating", rating < 0, advice))
    if "privacy" in picks:
        advice = "is not a number from 0 to 1; correct it, or rename a column about something else"
        rules.append(("privacy", F.isnan("privacy") | ~F.col("privacy").between(0, 1), advice))
    broken = [F.max(F.coalesce(wrong, F.lit(False))) for _, wrong, _ in rules]
    empty, *found = rows.agg(F.count(F.lit(1)) == 0, *broken).first()
    if empty:
        raise DataError("the source has no rows")
    for (role, _, what), wrong in zip(rules, found, strict=True):
        if wrong:
            raise DataError(f"column {picks[role]!r} ({role}): a row {what}")


def settled_scale(rows: Any, options: Options, picks: Picks) -> Scale:
    """The scale asked for, or the one that fits; ratings outside it are refused unless clipped."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    if options.binary:
        return Scale(0.0, 1.0)
    rating = F.col("rating")
    if options.scale is None:
        low, high = rows.agg(F.min(rating), F.max(rating)).first()
        return recognise(float(low), float(high))
    scale = declare(options.scale)
    ends = [F.lit(float(np.float32(end))).cast("float") for end in (scale.low, scale.high)]
    if options.out_of_scale == "refuse" and rows.agg(F.max(~rating.between(*ends))).first()[0]:
        raise DataError(
            f"column {picks['rating']!r} (rating): a row is outside the declared scale "
            f"{scale.low:g} to {scale.high:g}; correct scale=, or clip: out_of_scale='clip'"
        )
    return scale


def timed(rows: Any, picks: Picks) -> Any:
    """The rows with their time as a number in the column `time`."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    kind = str(rows.schema["timestamp"].dataType.simpleString())
    stamp = F.col("timestamp")
    ways = {
        "string": [stamp.try_cast("double"), F.unix_micros(stamp.try_cast("timestamp"))],
        "date": [F.unix_micros(stamp.cast("timestamp"))],
        "timestamp": [F.unix_micros(stamp)],
        "timestamp_ntz": [F.unix_micros(stamp.cast("timestamp"))],
    }.get(kind, [stamp])
    for way in ways:
        bad = way.isNull()
        if kind in ("float", "double"):
            bad = bad | F.isnan(way) | (F.abs(way) == float("inf"))
        if not rows.agg(F.max(bad)).first()[0]:
            return rows.withColumn("time", way).drop("timestamp")
    raise DataError(
        f"column {picks['timestamp']!r} (timestamp): a row is neither a number nor a date; correct "
        "it, or remove repeated rows and read without it"
    )
