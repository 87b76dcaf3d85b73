# SPDX-License-Identifier: Apache-2.0
"""Lists for all users of a file, written to Parquet in one step."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.cli.progress import busy
from tacit.data.block import UserBlock
from tacit.data.catalogue import Catalogue
from tacit.data.read import read
from tacit.evaluation.ranking import best_items, predictions

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.folding import FoldIn
    from tacit.model.item_model import ItemModel


def recommend_many(
    model: ItemModel,
    users: str,
    output: Path,
    n: int,
    *,
    unknown_items: Literal["refuse", "drop"] = "refuse",
) -> int:
    """Write user, rank (from 1), item, score and title for every user; how many users there are.

    The file appears when it is complete: a kill leaves what was there before.
    """
    if not output.absolute().parent.is_dir():
        raise ValueError(f"--output {output}: there is no such folder")
    catalogue = Catalogue(model.item_ids, "file")
    implicit = model.scale == (0.0, 1.0)
    with busy(f"Reading {users}"):
        ratings = read(
            users,
            items=catalogue,
            unknown_items=unknown_items,
            scale=None if implicit else model.scale,
            feedback="implicit" if implicit else "explicit",
        )
    with busy("Ranking"):
        _write(output, _lists(model, model.folding, ratings, n))
    return ratings.n_users


def _lists(model: ItemModel, fold_in: FoldIn, ratings: Ratings, n: int) -> pa.Table:
    best = best_items(fold_in, ratings.block, n)
    found = best >= 0
    rows, ranks = np.nonzero(found)
    indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64)
    items = best[found]
    asked = UserBlock(indptr, items, np.zeros(len(items), np.float32), ratings.n_items)
    columns = {
        "user": pa.array(ratings.user_ids[rows]),
        "rank": pa.array((ranks + 1).astype(np.int32)),
        "item": pa.array(model.item_ids[items]),
        "score": pa.array(predictions(fold_in, ratings.block, asked)),
    }
    if model.titles is not None:
        columns["title"] = pa.array(np.array(model.titles, object)[items])
    return pa.table(columns)


def _write(path: Path, table: pa.Table) -> None:
    with tempfile.NamedTemporaryFile(
        dir=path.absolute().parent, prefix=".writing-", delete=False
    ) as file:
        new = Path(file.name)
    try:
        parquet.write_table(table, new, compression="zstd")
        new.chmod(0o644)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
