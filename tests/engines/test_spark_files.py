# SPDX-License-Identifier: Apache-2.0
"""Files on a cluster: what is wrong is said before anything is spent; split users are regrouped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import cluster
from tacit.cli.app import app
from tacit.contributions import ItemCounts, Rows
from tacit.data.errors import DataError
from tacit.data.spark_files import parquet
from tacit.engines.local import LocalThreads
from tacit.engines.shards import Sizes
from tacit.engines.spark import SparkEngine

from ..property.examples import examples  # noqa: TID252 - as the registry tests

pytestmark = pytest.mark.xdist_group("spark")

CANARY = "quartz-zebra"
LATE = pytest.mark.nightly
KEYWORDS = {"items": [f"i{n}" for n in range(40)], "scale": (1, 5)}


def rows(seed=1, n_users=50):
    """Users 0..n_users, each with a few items of 40."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(n_users), 12)
    items = np.concatenate([rng.permutation(40)[:12] for _ in range(n_users)])
    return pa.table(
        {
            "user": users,
            "item": [f"i{n}" for n in items],
            "rating": rng.integers(1, 6, len(users)).astype(np.float32),
        }
    )


@pytest.fixture
def shards(tmp_path):
    """A folder of three files, over which every user is split."""
    table = rows()
    for k in range(3):
        pq.write_table(table.take(np.arange(k, len(table), 3)), tmp_path / f"part-{k}.parquet")
    return tmp_path


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damaged(path):
    """The end is whole, what it points to is not."""
    content = bytearray(path.read_bytes())
    content[10 : len(content) // 2] = b"\xff" * (len(content) // 2 - 10)
    path.write_bytes(content)


def rewritten(path, change):
    pq.write_table(change(pq.read_table(path)), path)


def typed(kind):
    return lambda table: table.set_column(0, "user", table["user"].cast(kind))


BROKEN = {
    "a truncated shard": (cut, "'part-1.parquet' of the source is not a whole Parquet file"),
    "an emptied shard": (lambda path: path.write_bytes(b""), "a file is empty"),
    "a damaged shard": (damaged, "'part-1.parquet' of the source is not a whole Parquet file"),
    "another type": (lambda p: rewritten(p, typed(pa.string())), "files differ in their columns"),
    "a wider type": (lambda p: rewritten(p, typed(pa.int32())), "files differ in their columns"),
    "a column less": (
        lambda p: rewritten(p, lambda t: t.drop_columns(["rating"])),
        r"\(rating\): a row has no value",
    ),
    "no file": (lambda p: [f.unlink() for f in p.parent.iterdir()], "cannot be read as Parquet"),
}


LATER = ("a damaged shard", "a wider type", "no file")


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=LATE) if name in LATER else name for name in BROKEN]
)
def test_files_that_are_not_whole_are_refused(spark, shards, case):
    breaks, said = BROKEN[case]
    breaks(shards / "part-1.parquet")
    with pytest.raises(DataError, match=said) as caught:
        tacit.read(parquet(spark, str(shards)), **KEYWORDS)
    assert caught.value.__context__ is None


def test_a_shard_that_goes_missing_or_changes_its_type_is_named(spark, shards):
    frame = spark.read.parquet(str(shards))
    (shards / "part-2.parquet").unlink()
    with pytest.raises(DataError, match=r"'part-2\.parquet' of the source is missing now"):
        tacit.read(frame, **KEYWORDS)
    rewritten(shards / "part-1.parquet", typed(pa.string()))
    with pytest.raises(DataError, match=r"'part-1\.parquet' of .* another type than other files"):
        tacit.read(spark.read.parquet(str(shards)), **KEYWORDS)


@pytest.mark.parametrize("name", ["ignoreCorruptFiles", "ignoreMissingFiles"])
def test_a_session_that_passes_over_broken_files_is_refused(spark, shards, name):
    spark.conf.set(f"spark.sql.files.{name}", "true")
    try:
        with pytest.raises(DataError, match=f"{name} is on, so that rows could be missing"):
            tacit.read(parquet(spark, str(shards)), **KEYWORDS)
    finally:
        spark.conf.unset(f"spark.sql.files.{name}")


def test_users_who_are_split_over_files_are_regrouped(spark, shards):
    spark.conf.set("spark.tacit.partitions", "2")
    found = tacit.read(parquet(spark, str(shards)), **KEYWORDS)
    near = tacit.read(rows(), **KEYWORDS)
    assert found.n_users == near.n_users == 50
    blocks = [one.block for one in found.rows.encoded.collect()]
    assert sum(block.n_users for block in blocks) == 50  # nobody twice
    contribution = examples(40)["ItemGramsAndGradient"][0]
    expected = LocalThreads(near.block, threads=1).total(contribution)
    total = SparkEngine(found.rows).total(contribution)
    assert all(np.array_equal(total[name], expected[name]) for name in expected)
    found.rows.unpersist()


@pytest.mark.nightly
def test_a_user_with_a_million_rows_weighs_no_more_than_another(spark):
    """Her rows are one block, her part of a sum is bounded, and she is counted as one user."""
    many = 1_000_000
    heavy = spark.range(many).selectExpr("0L AS user", "id AS item", "5.0F AS rating")
    others = spark.range(40).selectExpr("1 + id % 4 AS user", "id AS item", "3.0F AS rating")
    found = tacit.read(heavy.union(others), items=range(many), scale=(1, 5))
    assert found.n_users == 5
    counts = ItemCounts(many, Rows())
    sums = SparkEngine(found.rows, sizes=Sizes(piece=1 << 18)).total(counts)["count"]
    (part,) = counts.parts
    assert 0.99 < np.linalg.norm(sums[40:].astype(float)) / part.limit <= 1
    found.rows.unpersist()


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture
def run(spark, monkeypatch):
    """The verbs, on the session that all tests share."""

    class Shared:
        def __enter__(self):
            return spark

        def __exit__(self, *_):
            """It goes on."""

    monkeypatch.setattr(cluster, "session", lambda master: Shared())
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_line_trains_and_recommends_on_a_cluster(run, shards, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    place = ("--engine", "spark", "--master", "local[2]")
    answer = run("fit", shards, "-e", 50, "-o", out / "model", "-a", "item-offsets", *place)
    assert answer.exit_code == 0, answer.stderr
    answer = run("recommend", out / "model", "--users", shards, "-o", out / "far", "-n", 3, *place)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout == f"50 users, up to 3 items each: {out / 'far'}\n"
    answer = run("recommend", out / "model", "--users", shards, "-o", out / "near", "-n", 3)
    assert answer.exit_code == 0, answer.stderr
    key = [("user", "ascending"), ("rank", "ascending")]
    near, far = (pq.read_table(out / name).sort_by(key) for name in ("near", "far"))
    assert far.equals(near)
    answer = run("recommend", out / "model", "--users", shards, "-o", out / "far", *place)
    assert answer.exit_code == 2
    assert "is there already; choose a new folder" in answer.stderr


def test_what_is_wrong_is_one_line_and_spends_nothing(run, shards, tmp_path):
    journal = tmp_path / "journal"
    cut(shards / "part-0.parquet")
    place = ("--engine", "spark", "--journal", journal)
    answer = run("fit", shards, "-e", 1, "-o", tmp_path / "model", *place)
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert "'part-0.parquet' of the source is not a whole Parquet file" in answer.stderr
    assert not journal.exists()


def test_a_history_that_is_wrong_is_told_in_our_words(run, shards, tmp_path):
    near = tacit.fit(tacit.read(rows(), **KEYWORDS), tacit.ItemOffsets(), epsilon=50.0, delta=1e-3)
    near.model.save(tmp_path / "model")
    bad = rows().set_column(1, "item", pa.array([CANARY] * 600))
    pq.write_table(bad, tmp_path / "bad.parquet")
    answer = run("recommend", tmp_path / "model", "--users", tmp_path / "bad.parquet", "-o",
                 tmp_path / "lists", "--engine", "spark")  # fmt: skip
    assert answer.exit_code == 2
    assert "catalogue" in answer.stderr
    assert CANARY not in answer.stdout + answer.stderr
