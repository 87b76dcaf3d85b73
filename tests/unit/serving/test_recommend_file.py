# SPDX-License-Identifier: Apache-2.0
"""Parquet to Parquet: every user's list, whole or not at all, in bounded memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.serving import recommend_file as module
from tacit.serving.recommend_file import recommend_file

from . import made_up

MODEL = made_up.explicit()
BATCH = made_up.histories(MODEL, users=40)[1:]


def table(*, shuffled=True, user=str):
    rows = [(user(u), item, r) for u, one in enumerate(BATCH) for item, r in one.items()]
    order = np.random.default_rng(5).permutation(len(rows)) if shuffled else range(len(rows))
    users, items, ratings = zip(*[rows[k] for k in order], strict=True)
    return pa.table({"user": users, "item": items, "rating": ratings})


def check(path, *, user=str, n=5):
    """Users in order, each with the very list that she gets alone."""
    rows = parquet.read_table(path).to_pylist()
    by_user: dict = {}
    for row in rows:
        by_user.setdefault(row["user"], []).append((row["rank"], row["item"], row["score"]))
    assert list(by_user) == sorted(user(u) for u in range(len(BATCH)))
    for u, one in enumerate(BATCH):
        wanted = [(k, *pair) for k, pair in enumerate(MODEL.recommend(one, n), 1)]
        assert by_user[user(u)] == wanted


@pytest.mark.parametrize("rows", [7, 100, 1 << 18])
@pytest.mark.parametrize("user", [str, int])
def test_every_user_gets_her_own_list(tmp_path, monkeypatch, rows, user):
    monkeypatch.setattr(module, "ROWS", rows)
    parquet.write_table(table(user=user), tmp_path / "ratings.parquet")
    done = []
    out = tmp_path / "out.parquet"
    recommend_file(MODEL, tmp_path / "ratings.parquet", out, 5, progress=done.append)
    check(out, user=user)
    assert done == sorted(done)
    assert done[-1] == len(BATCH)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.parquet", "ratings.parquet"]


def test_only_candidates_are_recommended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)  # one look at the candidates must do for all batches
    parquet.write_table(table(), tmp_path / "ratings.parquet")
    only = {"film 3", "film 7", "film 11"}
    recommend_file(
        MODEL, tmp_path / "ratings.parquet", tmp_path / "out.parquet", 5, candidates=iter(only)
    )
    found = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert len({row["user"] for row in found}) > 1
    assert {row["item"] for row in found} <= only


def test_many_batches_make_many_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2048)
    users = np.repeat(np.arange(5000), 2)
    items = np.tile(["film 1", "film 2"], 5000)
    whole = pa.table({"user": users, "item": items, "rating": np.full(10_000, 3.0)})
    parquet.write_table(whole, tmp_path / "ratings.parquet")
    recommend_file(MODEL, tmp_path / "ratings.parquet", tmp_path / "out.parquet", 1)
    meta = parquet.read_metadata(tmp_path / "out.parquet")
    assert meta.num_rows == 5000
    assert meta.num_row_groups >= 4


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_tables_are_cut_between_users(rows):
    users = ["a", "a", "b", "c", "c", "c", "c", "d"]
    whole = pa.table({"user": users, "item": range(8)})
    reader = pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(rows))
    parts = list(module.whole_users(module._quietly(reader)))
    assert pa.concat_tables(parts).equals(whole)
    seen: set = set()
    for part in parts:
        own = set(part["user"].to_pylist())
        assert not own & seen
        seen |= own


def test_a_folder_other_names_and_no_rating_column(tmp_path):
    model = made_up.implicit()
    (tmp_path / "in").mkdir()
    for part, users in enumerate((["x", "y"], ["x", "z"])):
        chosen = pa.table({"watcher": users, "film": [f"film {part}", f"film {part + 5}"]})
        parquet.write_table(chosen, tmp_path / "in" / f"{part}.parquet")
    recommend_file(
        model,
        tmp_path / "in",
        tmp_path / "out.parquet",
        2,
        seen="keep",
        columns={"user": "watcher", "item": "film"},
    )
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    mine = [(row["item"], row["score"]) for row in rows if row["user"] == "x"]
    assert mine == model.recommend({"film 0", "film 1"}, 2, seen="keep")


def test_no_rows_make_an_empty_file_with_titles(tmp_path):
    model = made_up.explicit(titles=tuple(map(str, range(60))))
    empty = table().slice(0, 0).set_column(0, "user", pa.array([], pa.string()))
    parquet.write_table(empty, tmp_path / "in.parquet")
    recommend_file(model, tmp_path / "in.parquet", tmp_path / "out.parquet")
    written = parquet.read_table(tmp_path / "out.parquet")
    assert len(written) == 0
    assert written.column_names == ["user", "rank", "item", "score", "title"]


TWICE = next(iter(BATCH[1]))


def with_row(user, item, rating):
    extra = pa.table({"user": [user], "item": [item], "rating": [rating]})
    return pa.concat_tables([table(), extra.cast(table().schema)])


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (with_row("secret", "secret", 3.0), KeyError, "unknown_items='drop'"),
        (with_row("secret", "film 1", 7.25), ValueError, "on the model's scale"),
        (with_row(None, "film 1", 3.0), ValueError, "some rows have no user"),
        (with_row("1", TWICE, 1 + BATCH[1][TWICE] % 5), ValueError, "rated twice"),
        (table().rename_columns(["who", "item", "rating"]), ValueError, "no user column"),
        (table().rename_columns(["user", "thing", "rating"]), ValueError, "no item column"),
        (table().drop(["rating"]), ValueError, "no rating column"),
    ],
)
@pytest.mark.parametrize("rows", [50, 1 << 18])
def test_what_goes_wrong_leaves_the_old_file(tmp_path, monkeypatch, source, error, message, rows):
    monkeypatch.setattr(module, "ROWS", rows)
    parquet.write_table(source, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    out.write_bytes(b"what was there")
    with pytest.raises(error, match=message) as raised:
        recommend_file(MODEL, tmp_path / "in.parquet", out)
    assert "secret" not in str(raised.value)
    assert "7.25" not in str(raised.value)
    assert out.read_bytes() == b"what was there"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_kill_on_the_way_leaves_nothing_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 50)
    parquet.write_table(table(), tmp_path / "in.parquet")

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recommend_file(MODEL, tmp_path / "in.parquet", tmp_path / "out.parquet", progress=stop)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_unknown_items_are_dropped_on_request(tmp_path):
    extra = table().slice(0, 1).set_column(1, "item", pa.array(["not ours"]))
    parquet.write_table(pa.concat_tables([table(), extra]), tmp_path / "in.parquet")
    recommend_file(
        MODEL, tmp_path / "in.parquet", tmp_path / "out.parquet", 5, unknown_items="drop"
    )
    check(tmp_path / "out.parquet")


def test_the_ratings_are_not_overwritten(tmp_path):
    path = tmp_path / "ratings.parquet"
    parquet.write_table(table(), path)
    with pytest.raises(ValueError, match="output would replace the ratings"):
        recommend_file(MODEL, path, path)
    assert parquet.read_table(path).equals(table())


def test_no_file_and_no_parquet(tmp_path):
    with pytest.raises(FileNotFoundError, match="no Parquet file"):
        recommend_file(MODEL, tmp_path / "none.parquet", tmp_path / "out.parquet")
    (tmp_path / "text.parquet").write_text("user,item\n")
    with pytest.raises(ValueError, match="not a whole Parquet file"):
        recommend_file(MODEL, tmp_path / "text.parquet", tmp_path / "out.parquet")


def test_a_file_cut_in_the_middle(tmp_path):
    path = tmp_path / "ratings.parquet"
    parquet.write_table(table(), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    with pytest.raises(ValueError, match="could not be"):
        recommend_file(MODEL, path, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
