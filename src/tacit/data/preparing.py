# SPDX-License-Identifier: Apache-2.0
"""Sorted rows go to disk in whole users, checked, in a folder that only this user can open."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from tacit.data.errors import DataError
from tacit.data.prepared import (
    CATALOGUE,
    FORMAT,
    MANIFEST,
    checksum,
    open_prepared,
    schema_of,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tacit.data.block import UserBlock
    from tacit.data.catalogue import Catalogue, Scale
    from tacit.data.ratings import Ratings

RATINGS_PER_GROUP = 1 << 18
"""About so many ratings are in memory at a time for each block that waits or is worked on."""

GROUPS_PER_SHARD = 128


class TemporaryFolder:
    """A new folder of mode 0700, deleted when nobody needs it any more, or at exit."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tacit-prepared-"))
        self.delete = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@contextmanager
def kept_folder(folder: str | Path) -> Iterator[Path]:
    """A new or empty folder of mode 0700; what was begun in it is taken away if that fails."""
    path = Path(folder).expanduser()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"keep={str(path)!r} is there already; name a new or an empty folder")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise DataError(f"keep={str(path)!r}: {error.strerror}") from None
    try:
        yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def prepared(
    keep: str | Path | None,
    blocks: Iterable[UserBlock],
    n_users: int,
    catalogue: Catalogue,
    scale: Scale,
) -> Ratings:
    """Blocks of all users as ratings on disk: in the folder to keep, or in a temporary one."""
    if keep is None:
        owner = TemporaryFolder()
        prepare(owner.path, blocks, n_users, catalogue, scale)
        return open_prepared(owner.path, owner)
    with kept_folder(keep) as folder:
        prepare(folder, blocks, n_users, catalogue, scale)
        return open_prepared(folder)


def prepare(
    folder: Path,
    blocks: Iterable[UserBlock],
    n_users: int,
    catalogue: Catalogue,
    scale: Scale,
    *,
    ratings_per_group: int = RATINGS_PER_GROUP,
) -> None:
    """Write all users' rows, in order, into an empty folder; the manifest says when it is done.

    Raises:
        DataError: the disk is full, or rows break the rules of `UserBlock.check`.
    """
    try:
        (folder / MANIFEST).touch(0o600)
        shards = _write_rows(folder, blocks, ratings_per_group)
        _write_catalogue(folder / CATALOGUE, catalogue)
        described: dict[str, Any] = {
            "format": FORMAT,
            "users": n_users,
            "scale": asdict(scale),
            "catalogue": {"origin": catalogue.origin, "sha256": sha256(folder / CATALOGUE)},
            "personal": any(shard.pop("personal") for shard in shards),
            "shards": shards,
        }
        described["checksum"] = checksum(described)
        _write_text(folder / MANIFEST, json.dumps(described, indent=1))
    except OSError as error:
        why = error.strerror or type(error).__name__
    else:
        return
    raise DataError(
        f"prepared rows could not be written ({why}); make room where temporary files lie, or "
        "name another place: keep='folder', or the environment variable TMPDIR"
    )


def _write_rows(
    folder: Path, blocks: Iterable[UserBlock], ratings_per_group: int
) -> list[dict[str, Any]]:
    """Every block, cut into row groups, in files of some groups each; what the manifest says."""
    shards: list[dict[str, Any]] = []
    groups = (group for block in blocks for group in block.split(ratings_per_group))
    for first in groups:
        path = folder / f"rows-{len(shards):05}.parquet"
        users = 0
        with _writer(path, schema_of(personal=first.personal)) as writer:
            for group in chain([first], islice(groups, GROUPS_PER_SHARD - 1)):
                group.check()
                writer.write_batch(_batch(group), row_group_size=group.n_users)
                users += group.n_users
        path.chmod(0o600)
        shard = {"name": path.name, "users": users, "sha256": sha256(path)}
        shards.append(shard | {"personal": first.personal})
    return shards


def _writer(path: Path, schema: pa.Schema) -> Any:
    """Values take few different numbers; items hardly repeat, so that no dictionary helps."""
    dictionary: Any = ["values.list.element"]
    return pyarrow.parquet.ParquetWriter(
        path, schema, compression="none", use_dictionary=dictionary
    )


def _batch(group: UserBlock) -> pa.RecordBatch:
    """One row for each user."""
    schema = schema_of(personal=group.personal)
    offsets = pa.array(group.indptr, pa.int32())
    columns: list[Any] = [
        pa.ListArray.from_arrays(offsets, pa.array(array), type=schema.field(name).type)
        for name, array in (("items", group.items), ("values", group.values))
    ]
    if group.levels is not None:
        columns.append(pa.array(group.levels))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _write_catalogue(path: Path, catalogue: Catalogue) -> None:
    columns: dict[str, Any] = {"item": pa.array(catalogue.ids)}
    if catalogue.titles is not None:
        columns["title"] = pa.array(catalogue.titles, pa.string())
    pyarrow.parquet.write_table(pa.table(columns), path)
    path.chmod(0o600)


def _write_text(path: Path, text: str) -> None:
    """The whole text or no file."""
    new = path.with_suffix(".part")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.chmod(0o600)
    new.replace(path)
