# SPDX-License-Identifier: Apache-2.0
"""Made-up ratings as Parquet files, for sizes that memory does not hold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tacit.data.block import UserBlock

_COLUMNS = {"user": np.int32, "item": np.int32, "rating": np.float32}
_ROW = np.dtype(list(_COLUMNS.items()))


def write_parquet(
    blocks: Iterable[UserBlock], folder: str | Path, *, files: int = 8, seed: int = 0
) -> list[Path]:
    """Write the ratings of all blocks, in no order, to `files` files in a new or empty folder.

    Ids count from 1; the columns are user, item and rating. Every rating goes to a file by chance,
    so that most users are split over all of them, and lies anywhere in it. Memory holds a block and
    one file at a time.

    Raises:
        FileExistsError: the folder holds something.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{str(folder)!r} is not empty; name a new folder")
    rng = np.random.default_rng(seed)
    paths = [folder / f"part-{n:05}.parquet" for n in range(files)]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        drafts = [Path(scratch) / str(n) for n in range(files)]
        _spread(blocks, drafts, rng)
        for draft, path in zip(drafts, paths, strict=True):
            rows = np.fromfile(draft, _ROW) if draft.exists() else np.empty(0, _ROW)
            rng.shuffle(rows)
            columns: dict[str, Any] = {name: np.ascontiguousarray(rows[name]) for name in _COLUMNS}
            pyarrow.parquet.write_table(pa.table(columns), path, compression="snappy")
            draft.unlink(missing_ok=True)
    return paths


def _spread(blocks: Iterable[UserBlock], drafts: list[Path], rng: np.random.Generator) -> None:
    """Append every rating of the blocks to one of the drafts."""
    done = 1
    for block in blocks:
        rows: NDArray[Any] = np.empty(len(block.items), _ROW)
        rows["user"] = block.user_of_rating() + done
        rows["item"] = block.items + 1
        rows["rating"] = block.values
        done += block.n_users
        place = rng.integers(0, len(drafts), len(rows), np.uint16)
        rows = rows[np.argsort(place, kind="stable")]
        ends = np.cumsum(np.bincount(place, minlength=len(drafts)))
        for draft, piece in zip(drafts, np.split(rows, ends[:-1]), strict=True):
            with draft.open("ab") as file:
                piece.tofile(file)
