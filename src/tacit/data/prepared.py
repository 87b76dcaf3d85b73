# SPDX-License-Identifier: Apache-2.0
"""Rows that lie on disk, sorted by user: Parquet row groups of whole users.

    prepared.json      version, public facts, and the checksum of every file; empty until the end
    catalogue.parquet  item ids and titles, in the order of the item factors
    rows-00000.parquet, ...
        one row for each user: her items in increasing order, her ratings of them, her privacy level

User ids are not there. All else is as private as the ratings: whoever reads the folder reads them.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tacit.data.block import UserBlock
from tacit.data.catalogue import Catalogue, Scale
from tacit.data.errors import DataError
from tacit.data.ratings import Ratings

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
MANIFEST = "prepared.json"
CATALOGUE = "catalogue.parquet"

_AGAIN = "prepare the rows again from their source"


def _each(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


def schema_of(*, personal: bool) -> pa.Schema:
    """The columns of a shard; privacy levels only if users could declare them."""
    fields = [
        pa.field("items", _each(pa.int32()), nullable=False),
        pa.field("values", _each(pa.float32()), nullable=False),
        pa.field("level", pa.float32(), nullable=False),
    ]
    return pa.schema(fields if personal else fields[:2])


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of rows, and the SHA-256 of what was written into it."""

    name: str
    users: int
    sha256: str


@dataclass(frozen=True, repr=False, eq=False)
class PreparedRows:
    """All users' rows in a folder. Every one of them passed `UserBlock.check` when written.

    personal: whether users could declare privacy levels of their own.
    owner: keeps a temporary folder alive for as long as its rows.
    """

    folder: Path
    shards: tuple[Shard, ...]
    n_items: int
    personal: bool = False
    owner: object = field(default=None)

    @property
    def n_users(self) -> int:
        return sum(shard.users for shard in self.shards)

    def __repr__(self) -> str:
        return f"PreparedRows(users={self.n_users}, items={self.n_items}, <private rows>)"

    def blocks(self) -> Iterator[UserBlock]:
        """A block for each row group, in the order of the users, each read when it is asked for.

        Raises:
            DataError: a file is not what it was when it was opened.
        """
        first = 0
        for shard in self.shards:
            with _opened(self.folder / shard.name, personal=self.personal) as file:
                if file.metadata.num_rows != shard.users:
                    raise _changed(self.folder / shard.name)
                for group in range(file.num_row_groups):
                    block = self._block(file, group, first)
                    first += block.n_users
                    yield block

    def _block(self, file: Any, group: int, first: int) -> UserBlock:
        """A row group as a block, without a copy of items and values."""
        try:
            table = file.read_row_group(group, use_threads=False).combine_chunks()
            items, values = (_chunk(table[name]) for name in ("items", "values"))
            levels = table["level"].to_numpy() if self.personal else None
        except (pa.ArrowException, OSError):
            items = values = None
        if items is None or not items.offsets.equals(values.offsets):
            raise _changed(self.folder)
        return UserBlock(
            items.offsets.to_numpy().astype(np.int64),
            items.values.to_numpy(),
            values.values.to_numpy(),
            self.n_items,
            levels,
            first,
        )


def _chunk(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _opened(path: Path, *, personal: bool) -> Any:
    """A Parquet file with our columns."""
    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (pa.ArrowException, OSError):
        pass  # what the library says may quote the file
    else:
        if file.schema_arrow.equals(schema_of(personal=personal)):
            return file
        file.close()
    raise _changed(path)


def _changed(path: Path) -> DataError:
    return DataError(f"{str(path)!r} is not what was written there; {_AGAIN}")


def is_prepared(source: object) -> bool:
    """Whether this is a folder that `prepare` made, or began to make."""
    return isinstance(source, (str, Path)) and (Path(source).expanduser() / MANIFEST).is_file()


def open_prepared(folder: Path, owner: object = None) -> Ratings:
    """The ratings that were prepared in `folder`, once every file has its size and checksum.

    Raises:
        DataError: a file is missing, truncated or another one; nothing was spent.
    """
    described = _manifest(folder)
    try:
        shards = tuple(Shard(**shard) for shard in described["shards"])
        scale = Scale(**described["scale"])
        files = {shard.name: shard.sha256 for shard in shards}
        files[CATALOGUE] = described["catalogue"]["sha256"]
        origin, n_users = described["catalogue"]["origin"], described["users"]
        personal = bool(described["personal"])
    except (KeyError, TypeError):
        shards = ()
    if not shards or sum(shard.users for shard in shards) != n_users:
        raise _changed(folder / MANIFEST)
    with ThreadPoolExecutor(2) as pool:  # hashing leaves the interpreter to others
        list(pool.map(lambda name: _verify(folder / name, files[name]), files))
    catalogue = _catalogue(folder / CATALOGUE, origin)
    rows = PreparedRows(folder, shards, len(catalogue), personal, owner)
    for shard in shards:
        with _opened(folder / shard.name, personal=personal) as file:
            if file.metadata.num_rows != shard.users:
                raise _changed(folder / shard.name)
    return Ratings(rows, None, catalogue, scale)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        if not text:
            raise DataError(f"{str(folder)!r}: preparing was broken off here; {_AGAIN}")
        described = json.loads(text)
        fits = described.pop("checksum") == checksum(described)
    except DataError:
        raise
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        fits = False
    if not fits:
        raise _changed(path)
    if described.get("format") != FORMAT:
        raise DataError(f"{str(folder)!r} was prepared by another version of tacit; {_AGAIN}")
    return dict(described)


def _verify(path: Path, wanted: str) -> None:
    try:
        found = sha256(path)
    except FileNotFoundError:
        raise DataError(f"{str(path)!r} is missing; {_AGAIN}") from None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    if found != wanted:
        raise _changed(path)


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(described: dict[str, Any]) -> str:
    """The checksum of a description, however its JSON is laid out."""
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _catalogue(path: Path, origin: Any) -> Catalogue:
    table = pyarrow.parquet.read_table(path)
    ids, titled = table["item"], "title" in table.column_names
    if pa.types.is_integer(ids.type):
        items: Any = np.asarray(ids.to_numpy(), np.int64)
    else:
        items = np.asarray(ids.to_numpy(zero_copy_only=False), object)
    return Catalogue(items, origin, tuple(map(str, table["title"].to_pylist())) if titled else None)
