# SPDX-License-Identifier: Apache-2.0
"""Rows left on disk: the same rows in a private folder; damage is told before a spend."""

from __future__ import annotations

import gc
import json
import pkgutil
import resource
import stat
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import tacit
import tacit.data.size
from tacit.data.block import UserBlock
from tacit.data.errors import DataError
from tacit.data.prepared import checksum
from tacit.data.size import is_large

USER = "zebra-quill"  # must never be quoted


def table(users=30, items=12, *, seed=0):
    """Rows of all users in no order."""
    rng = np.random.default_rng(seed)
    u, i = np.nonzero(rng.random((users, items)) < 0.4)
    order = rng.permutation(len(u))
    return pa.table(
        {
            "user": [f"{USER}-{n}" for n in u[order]],
            "item": [f"i{n}" for n in i[order]],
            "rating": rng.integers(1, 6, len(u)).astype(np.float32)[order],
        }
    )


def joined(blocks):
    """Lengths of rows, items and values of all blocks."""
    parts = [(np.diff(b.indptr), b.items, b.values) for b in blocks]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def same(one, other):
    """The same rows and public facts."""
    for mine, hers in zip(joined(one.rows.blocks()), joined([other.block]), strict=True):
        np.testing.assert_array_equal(mine, hers)
    assert list(one.catalogue.ids) == list(other.catalogue.ids)
    assert one.catalogue.titles == other.catalogue.titles
    assert (one.catalogue.origin, one.scale) == (other.catalogue.origin, other.scale)


MOVIES = pa.table({"item": [f"i{n}" for n in range(20)], "title": [f"Film {n}" for n in range(20)]})
SOURCES = {
    "table": (table, {}),
    "titles": (table, {"items": MOVIES, "scale": (1, 5)}),
    "implicit": (table, {"feedback": "implicit"}),
    "clipped": (table, {"scale": (2, 4), "out_of_scale": "clip"}),
    "matrix": (
        lambda: scipy.sparse.csr_matrix(([3.0, 4.0, 1.0], ([1, 1, 4], [0, 2, 2])), (7, 3)),
        {"user_axis": "rows"},
    ),
    "integers": (
        lambda: pa.table({"user": [9, 7, 9, 7], "item": [4, 4, 2, 3], "rating": [1.0, 2, 3, 4]}),
        {},
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_on_disk_are_those_in_memory(name, tmp_path):
    make, keywords = SOURCES[name]
    in_memory = tacit.read(make(), **keywords)
    same(tacit.read(make(), stream=True, **keywords), in_memory)
    same(tacit.read(make(), keep=tmp_path / "kept", **keywords), in_memory)
    same(tacit.read(tmp_path / "kept"), in_memory)
    same(tacit.read(str(tmp_path / "kept"), stream=True), in_memory)


def test_levels_come_along_and_epsilons_are_refused():
    levels = pa.array([None if n % 3 else 0.5 for n in range(20)])
    rows = pa.table({"user": range(20), "item": [1, 2] * 10, "rating": [3.0] * 20}).append_column(
        "privacy", levels
    )
    found = [b.levels for b in tacit.read(rows, stream=True).rows.blocks()]
    np.testing.assert_array_equal(np.concatenate(found), tacit.read(rows).block.levels)
    with pytest.raises(DataError, match="privacy_unit='epsilon' needs the rows in memory"):
        tacit.read(rows, stream=True, privacy_unit="epsilon")


# --- the folder ----------------------------------------------------------------------------------


def test_a_temporary_folder_is_private_and_deleted_with_the_ratings(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ratings = tacit.read(table(), stream=True)
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert USER.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())
    del ratings
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_kept_folder_is_private_and_new(tmp_path):
    kept = tmp_path / "a" / "kept"
    tacit.read(table(), keep=kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    (tmp_path / "file").write_text("")
    for place in (kept, tmp_path / "file", tmp_path):
        with pytest.raises(DataError, match="is there already"):
            tacit.read(table(), keep=place)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    with pytest.raises(DataError, match="holds rows that are read already: leave out scale=, keep"):
        tacit.read(kept, scale=(1, 5), keep=tmp_path / "new")
    broken = tmp_path / "broken"
    with pytest.raises(DataError, match="repeats the user and item"):
        tacit.read(pa.concat_tables([table(), table()]), keep=broken)
    assert not broken.exists()


def test_what_looks_at_single_rows_is_refused():
    ratings = tacit.read(table(), stream=True)
    assert repr(ratings) == "Ratings(users=29, items=12, scale=1 to 5, <private rows>)"
    for look in (lambda: ratings.block, lambda: ratings.user_ids):
        with pytest.raises(DataError, match="do not lie in memory"):
            look()


@pytest.fixture
def kept(tmp_path):
    tacit.read(table(), keep=tmp_path / "kept")
    return tmp_path / "kept"


def rewritten(folder, **changes):
    """The manifest with other content, and the checksum that goes with it."""
    path = folder / "prepared.json"
    described = json.loads(path.read_text()) | changes
    described.pop("checksum")
    path.write_text(json.dumps(described | {"checksum": checksum(described)}))


def swapped(folder):
    """A shard of another source."""
    tacit.read(table(seed=1), keep=folder.parent / "other")
    name = "rows-00000.parquet"
    (folder / name).write_bytes((folder.parent / "other" / name).read_bytes())


def cut(folder, name="rows-00000.parquet"):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-20])


DAMAGES = {
    "a shard is missing": (lambda f: (f / "rows-00000.parquet").unlink(), "is missing"),
    "a shard is truncated": (cut, "is not what was written there"),
    "a shard of other rows": (swapped, "is not what was written there"),
    "a truncated catalogue": (lambda f: cut(f, "catalogue.parquet"), "is not what was written"),
    "a truncated description": (lambda f: cut(f, "prepared.json"), "is not what was written"),
    "preparing was killed": (lambda f: (f / "prepared.json").write_text(""), "was broken off"),
    "another version": (lambda f: rewritten(f, format=99), "by another version of tacit"),
    "other users": (lambda f: rewritten(f, users=28), "is not what was written there"),
    "no shards": (lambda f: rewritten(f, shards=[], users=0), "is not what was written there"),
    "no scale": (lambda f: rewritten(f, scale=None), "is not what was written there"),
    "levels that are not there": (lambda f: rewritten(f, personal=True), "is not what was written"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_before_anything_is_spent(damage, kept):
    harm, told = DAMAGES[damage]
    harm(kept)
    with pytest.raises(DataError, match=told) as caught:
        tacit.read(kept)
    assert caught.value.__context__ is None
    assert USER not in str(caught.value)


# --- sources at scale ----------------------------------------------------------------------------


def shards(folder, *tables):
    folder.mkdir()
    for n, part in enumerate(tables):
        pq.write_table(part, folder / f"part-{n}.parquet")
    return folder


def test_users_split_over_files_are_put_together(tmp_path):
    rows = table()
    halves = rows.slice(0, 50), rows.slice(50)
    assert set(halves[0]["user"].to_pylist()) & set(halves[1]["user"].to_pylist())
    same(tacit.read(shards(tmp_path / "in", *halves), stream=True), tacit.read(rows))


@pytest.mark.parametrize("stream", [False, True])
def test_a_truncated_shard_and_one_of_another_schema_are_refused(tmp_path, stream):
    folder = shards(tmp_path / "in", table(), table(seed=1))
    cut(folder, "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet' is not a whole Parquet file"):
        tacit.read(folder, stream=stream)
    other = table(seed=1).set_column(2, "rating", pa.array(["5"] * table(seed=1).num_rows))
    pq.write_table(other, folder / "part-1.parquet")
    with pytest.raises(DataError, match="its type differs between them"):
        tacit.read(folder, stream=stream)


def test_one_user_with_a_million_rows_is_bounded_and_the_others_are_not_held_up():
    """Her block is as long as her row, which the catalogue bounds; no other block is."""
    items, usual = 1_000_000, 1 << 18
    heavy = pa.table({"user": np.zeros(items, np.int64), "item": np.arange(items)})
    light = pa.table({"user": np.arange(1, 900_001), "item": np.arange(900_000) % items})
    rows = pa.concat_tables([light, heavy])
    ratings = tacit.read(rows, feedback="implicit", stream=True)
    sizes = [len(block.items) for block in ratings.rows.blocks()]
    assert sum(size > usual for size in sizes) == 1
    assert max(sizes) == items
    assert sum(sizes) == rows.num_rows


@contextmanager
def no_large_files(size=100_000):
    """Whoever writes a larger file is told that there is no room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


FULL = {
    "storing": ("tacit.data.staging.Staging", "store", "the disk that holds temporary files is"),
    "sorting": ("tacit.data.sorting.Sorter", "add", "rows could not be sorted.*make room"),
    "writing": ("tacit.data.preparing", "_write_rows", "rows could not be written.*make room"),
}


@pytest.mark.parametrize("doing", FULL)
def test_a_disk_that_is_full(doing, tmp_path, monkeypatch):
    """Nothing is left behind; the rows in order are asked for while they are written."""
    where, name, told = FULL[doing]
    owner = pkgutil.resolve_name(where)
    work = getattr(owner, name)

    def without_room(*given):
        if doing == "writing":
            given = (given[0], list(given[1]), *given[2:])
        with no_large_files():
            return work(*given)

    monkeypatch.setattr(owner, name, without_room)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = tacit.datasets.movielens_like(users=3000, items=500, ratings=200_000).block
    columns = {"user": rows.user_of_rating(), "item": rows.items, "rating": rows.values}
    with pytest.raises(DataError, match=told):
        tacit.read(pa.table(columns), keep=tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


# --- choosing by itself --------------------------------------------------------------------------


def test_rows_stay_on_disk_where_they_would_fill_too_much_of_the_memory(tmp_path, monkeypatch):
    rows = table()
    pq.write_table(rows, tmp_path / "ratings.parquet")
    shards(tmp_path / "in", rows, rows)
    text = tmp_path / "ratings.csv"
    text.write_text("user,item,rating\n" + "u1,i1,5\nu2,i1,4\n" * 50)
    need = 8 * rows.num_rows

    def found(memory, source):
        monkeypatch.setattr(tacit.data.size, "memory", lambda: memory)
        return is_large(source)

    for source, bytes_needed in (
        (tmp_path / "ratings.parquet", need),
        (str(tmp_path / "ratings.parquet"), need),
        (tmp_path / "in", 2 * need),
        (tmp_path / "in" / "*.parquet", 2 * need),
        (text, 8 * text.stat().st_size / 12),
    ):
        assert not found(4 * bytes_needed, source)
        assert found(4 * bytes_needed - 8, source)
    for source in (rows, "postgresql://nowhere", tmp_path / "absent", None):
        assert not found(1, source)
    auto = tacit.read(tmp_path / "ratings.parquet", stream="auto")
    assert not isinstance(auto.rows, UserBlock)
    monkeypatch.setattr(tacit.data.size, "memory", lambda: 1e12)
    assert isinstance(tacit.read(tmp_path / "ratings.parquet", stream="auto").rows, UserBlock)


def test_the_memory_is_that_of_the_machine_or_of_its_container(monkeypatch):
    whole = tacit.data.size.memory()
    assert 1e8 < whole < 1e15
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "1000000\n")
    assert tacit.data.size.memory() == 1e6
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "max\n")
    assert tacit.data.size.memory() >= whole
