# SPDX-License-Identifier: Apache-2.0
"""Recommendations for every user of a Spark DataFrame, as another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tacit.serving.columns import pick
from tacit.serving.recommend_file import whole_users

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tacit.model.item_model import ItemModel
    from tacit.serving.catalogue import UnknownItems
    from tacit.serving.rank import Seen


class HistoryError(RuntimeError):
    """A history on an executor could not be answered; its words hold nothing private."""


def recommend_frame(  # noqa: PLR0913 (keywords of a public front door)
    model: ItemModel,
    histories: Any,
    n: int = 10,
    *,
    seen: Seen = "leave out",
    candidates: Iterable[Any] | None = None,
    unknown_items: UnknownItems = "refuse",
    columns: Mapping[str, str] | None = None,
) -> Any:
    """Recommend n items to every user of a Spark DataFrame, on its cluster.

    Args:
        model: what `tacit.fit` or `tacit.load` gives; it is sent to the executors once.
        histories: rows of user, item and rating in any order. Without a rating column every row
            counts 1, where feedback is implicit.
        n: how many items for each user.
        seen: whether items that a user rated are left out.
        candidates: the only items to choose from; all items if none are given.
        unknown_items: refuse rated items outside the catalogue, or drop these ratings.
        columns: names of the columns, as {"user": ..., "item": ..., "rating": ...}, where they are
            not the usual ones.

    Returns:
        A DataFrame of user, rank (from 1), item, score and title, if the model has titles. It is
        computed when it is asked for, and again whenever it is, unless you cache or write it.

    Raises:
        ValueError: the columns are not as described. What is wrong with a row is said when the
            DataFrame is computed, as Spark's own error, whose words hold nothing of a history.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 (an extra)

    chosen = pick(histories.columns, columns)
    if "user" not in chosen:
        raise ValueError("no user column: call it user, or name it: columns={'user': ...}")
    asked: dict[str, Any] = {"seen": seen, "unknown_items": unknown_items}
    asked["candidates"] = None if candidates is None else list(candidates)
    model.recommend({}, n, **asked)  # refuses what is out of range
    quoted = {role: "`" + name.replace("`", "``") + "`" for role, name in chosen.items()}
    rows = histories.select(*(F.col(name).alias(role) for role, name in quoted.items()))
    kind = rows.schema["user"].dataType.simpleString()
    item = "string" if model.item_ids.dtype == np.object_ else "bigint"
    title = "" if model.titles is None else ", title string"
    schema = f"user {kind}, rank int, item {item}, score double{title}"
    sent = rows.sparkSession.sparkContext.broadcast(model)

    def answer(table: pa.Table) -> pa.Table:
        found: Any = sent.value.recommend(table, n, **asked)
        answered: pa.Table = found.to_arrow()
        return answered

    apart = rows.repartition("user").sortWithinPartitions("user")
    return apart.mapInArrow(lambda batches: _answered(batches, answer), schema)


def save_lists(lists: Any, folder: str) -> int:
    """Write what `recommend_frame` gives into a new folder of Parquet files, on the cluster.

    Returns:
        How many users have a list.

    Raises:
        ValueError: the folder is there already, or a history is not as described.
        HistoryError: something else went wrong; its words hold nothing private.
    """
    try:
        lists.write.parquet(folder)
        return int(lists.sparkSession.read.parquet(folder).where("rank = 1").count())
    except Exception as error:  # noqa: BLE001 (Spark's words may quote a history)
        kind, words = type(error).__name__, str(error)
    if "PATH_ALREADY_EXISTS" in words:
        raise ValueError(f"output {folder!r} is there already; choose a new folder")
    ours = re.search(rf"\b{HistoryError.__name__}: (.+)", words)
    if ours is None:
        raise HistoryError(f"the lists could not be made ({kind}); look into it with Spark itself")
    raise ValueError(ours[1])


def _answered(
    batches: Iterable[pa.RecordBatch], answer: Callable[[pa.Table], pa.Table]
) -> Iterator[pa.RecordBatch]:
    """One user's rows after the other's; nothing is raised that quotes them."""
    told = ""
    try:
        for rows in whole_users(pa.Table.from_batches([batch]) for batch in batches):
            if rows["user"].null_count:
                raise ValueError("some rows have no user; remove them")
            answered = answer(rows)
            user = answered["user"].cast(rows.schema.field("user").type)
            yield from answered.set_column(0, "user", user).to_batches()
    except Exception as error:  # noqa: BLE001 (whatever it is, it has seen a history)
        ours = isinstance(error, (ValueError, KeyError)) and _is_ours(error)
        told = str(error.args[0]) if ours else f"a list could not be made ({type(error).__name__})"
    if told:
        raise HistoryError(told)


def _is_ours(error: BaseException) -> bool:
    """Whether tacit raised it; its own messages hold nothing private."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.startswith("tacit.")
