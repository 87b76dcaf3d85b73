# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PD011 (the values of a block are no pandas object)
"""Every kind of source gives the same ratings."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.read import read

USERS = [30, 4, 30, 4, 100]
ITEMS = ["b", "a", "a", "c", "b"]
STARS = [4.5, 1.0, 3.0, 2.0, 5.0]
TABLE = pa.table({"userId": USERS, "movieId": ITEMS, "rating": STARS})


def check(ratings):
    assert ratings.user_ids.tolist() == [4, 30, 100]
    assert ratings.user_ids.dtype == np.int64
    assert ratings.catalogue.ids.tolist() == ["a", "b", "c"]
    assert ratings.catalogue.origin == "source"
    assert ratings.block.n_items == 3
    assert ratings.block.indptr.tolist() == [0, 2, 4, 5]
    assert ratings.block.items.tolist() == [0, 2, 0, 1, 1]
    assert ratings.block.values.tolist() == [1.0, 2.0, 3.0, 4.5, 5.0]
    assert [a.dtype for a in (ratings.block.indptr, ratings.block.items, ratings.block.values)] == [
        np.int64,
        np.int32,
        np.float32,
    ]
    assert (ratings.scale.low, ratings.scale.high, ratings.scale.origin) == (1, 5, "recognised")


def lines(delimiter):
    rows = [("userId", "movieId", "rating"), *zip(USERS, ITEMS, STARS, strict=True)]
    return "\n".join(delimiter.join(map(str, row)) for row in rows) + "\n"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", "::"])
def test_text(tmp_path, delimiter):
    path = tmp_path / "ratings.txt"
    path.write_text(lines(delimiter))
    check(read(path))
    check(read(str(path)))


def test_text_with_quotes_carriage_returns_and_byte_order_mark(tmp_path):
    path = tmp_path / "it's.csv"
    path.write_bytes(
        b"\xef\xbb\xbf" + lines(",").replace("b", '"b"').replace("\n", "\r\n").encode()
    )
    check(read(path))


def test_packed_text(tmp_path):
    path = tmp_path / "ratings.csv.gz"
    path.write_bytes(gzip.compress(lines(",").encode()))
    check(read(path))


def test_parquet_file_folder_and_pattern(tmp_path):
    pq.write_table(TABLE, tmp_path / "whole.parquet")
    check(read(tmp_path / "whole.parquet"))
    (tmp_path / "parts").mkdir()
    pq.write_table(TABLE.slice(0, 2), tmp_path / "parts" / "1.parquet")
    pq.write_table(TABLE.slice(2), tmp_path / "parts" / "2.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    check(read(tmp_path / "parts"))
    check(read(f"{tmp_path}/parts/*.parquet"))


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_pandas(),
        TABLE.to_pandas().astype({"movieId": object}),
        TABLE.to_pandas().astype({"movieId": "category"}),
        pl.from_arrow(TABLE),
        pl.from_arrow(TABLE).lazy(),
        TABLE.set_column(1, "movieId", TABLE["movieId"].dictionary_encode()),
        TABLE.set_column(2, "rating", TABLE["rating"].cast(pa.float16())),
    ],
    ids=lambda source: type(source).__module__ + "." + type(source).__name__,
)
def test_tables(source):
    check(read(source))


def test_stream_of_many_small_batches(monkeypatch):
    monkeypatch.setattr("tacit.data.frames.SMALL_BATCH", 2)
    batches = TABLE.to_batches(max_chunksize=1)
    check(read(pa.RecordBatchReader.from_batches(TABLE.schema, batches)))


@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array]
)
@pytest.mark.parametrize("user_axis", ["rows", "columns"])
def test_matrix(form, user_axis):
    dense = np.array([[5, 0, 3, 0], [0, 0, 0, 0], [1, 2, 0, 0]], np.float32)
    matrix = form(dense if user_axis == "rows" else dense.T)
    ratings = read(matrix, user_axis=user_axis, scale=(1, 5))
    assert ratings.user_ids.tolist() == [0, 1, 2]  # the second user rated nothing, and stays
    assert ratings.catalogue.ids.tolist() == [0, 1, 2, 3]  # as does the last item
    assert ratings.block.indptr.tolist() == [0, 2, 2, 4]
    assert ratings.block.items.tolist() == [0, 2, 0, 1]
    assert ratings.block.values.tolist() == [5, 3, 1, 2]
    named = read(matrix, user_axis=user_axis, items=["p", "q", "r", "s"])
    assert named.catalogue.ids.tolist() == ["p", "q", "r", "s"]
    assert named.block.items.tolist() == ratings.block.items.tolist()


@pytest.mark.parametrize(
    ("name", "first"),
    [("ratings.dat", "1::20::4.5::978300760\n"), ("u.data", "1\t20\t4.5\t978300760\n")],
)
def test_movielens_without_header_line(tmp_path, name, first):
    path = tmp_path / name
    path.write_text(first + first.replace("1", "2", 1).replace("4.5", "3"))
    ratings = read(path)
    assert ratings.user_ids.tolist() == [1, 2]
    assert ratings.catalogue.ids.tolist() == [20]
    assert ratings.block.values.tolist() == [4.5, 3.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("movies.dat", "20::Café (1995)::Drama\n10::Heat::Action\n"),
        (
            "u.item",
            "".join(f"{n}|{t}|{'|' * 21}\n" for n, t in [(20, "Café (1995)"), (10, "Heat")]),
        ),
        ("movies.csv", 'movieId,title,genres\n20,Café (1995),Drama\n10,"Heat",Action\n'),
    ],
)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_catalogue_of_movielens(tmp_path, name, text, encoding):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    ratings = read(pa.table({"user": [1, 2], "item": [10, 20], "rating": [1, 2]}), items=path)
    assert ratings.catalogue.ids.tolist() == [20, 10]
    assert ratings.catalogue.titles == ("Café (1995)", "Heat")
    assert ratings.catalogue.origin == "file"
    assert ratings.block.items.tolist() == [1, 0]


@pytest.mark.parametrize(
    "items",
    [
        ["c", "a", "b", "z"],
        np.array(["c", "a", "b", "z"]),
        pa.array(["c", "a", "b", "z"]),
        pd.DataFrame({"id": ["c", "a", "b", "z"]}),
        pl.DataFrame({"item": ["c", "a", "b", "z"]}),
        read(TABLE, items=["c", "a", "b", "z"]).catalogue,
    ],
    ids=lambda items: type(items).__name__,
)
def test_catalogue_in_memory(items):
    ratings = read(TABLE, items=items)
    assert ratings.catalogue.ids.tolist() == ["c", "a", "b", "z"]
    assert ratings.block.n_items == 4
    assert ratings.block.items.tolist() == [0, 1, 1, 2, 2]


def test_dropped_items_leave_an_empty_user():
    ratings = read(TABLE, items=["a", "c"], unknown_items="drop")
    assert ratings.user_ids.tolist() == [4, 30, 100]
    assert ratings.block.indptr.tolist() == [0, 2, 3, 3]
    assert ratings.block.items.tolist() == [0, 1, 0]


@pytest.mark.parametrize("listed", [[1, 2, 10], ["1", "2", "10"]])
def test_text_file_takes_the_type_of_the_catalogue(tmp_path, listed):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\nx,10,3\ny,2,4\n")
    ratings = read(path, items=listed)
    assert ratings.catalogue.ids.tolist() == listed
    assert ratings.block.items.tolist() == [2, 1]


def test_text_ids_are_integers_only_if_all_are(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n10,007,3\n9,x,4\n")
    ratings = read(path)
    assert ratings.user_ids.tolist() == [9, 10]
    assert ratings.catalogue.ids.tolist() == ["007", "x"]


def test_named_columns_win_over_usual_names():
    table = pa.table({"user": [1, 2], "who": ["a", "b"], "x": [1, 1], "y": [3, 4]})
    ratings = read(table, user="who", item="x", rating="y")
    assert ratings.user_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "times",
    [
        [1, 3, 2],
        [1.0, 1.5, 1.25],
        ["2020-01-01", "2020-01-03", "2020-01-02 10:00:00"],
        ["9", "11", "10"],
        pa.array([1, 3, 2], pa.timestamp("ns")),
        pa.array([1, 3, 2], pa.timestamp("us", "UTC")),
        pa.array([1, 3, 2], pa.date32()),
    ],
    ids=str,
)
def test_last_duplicate_by_timestamp(times):
    table = pa.table({"user": [1, 1, 1], "item": [7, 7, 7], "rating": [1, 5, 3], "ts": times})
    other = pa.table({"user": [2], "item": [7], "rating": [4], "ts": table["ts"].slice(0, 1)})
    ratings = read(pa.concat_tables([table, other]), duplicates="last")
    assert ratings.block.indptr.tolist() == [0, 1, 2]
    assert ratings.block.values.tolist() == [5, 4]


def test_same_row_twice_is_no_tie():
    table = pa.table({"user": [1, 1, 2], "item": [7, 7, 7], "rating": [4, 4, 1], "ts": [5, 5, 5]})
    assert read(table, duplicates="last").block.values.tolist() == [4, 1]


def test_implicit_feedback():
    ratings = read(TABLE, feedback="implicit")
    assert ratings.block.values.tolist() == [1] * 5
    assert (ratings.scale.low, ratings.scale.high, ratings.scale.origin) == (0, 1, "declared")
    assert read(TABLE.drop_columns(["rating"]), feedback="implicit").n_users == 3
    counts = read(TABLE, feedback="implicit", rating="rating")
    assert counts.block.values.tolist() == [1.0, 2.0, 3.0, 4.5, 5.0]
    twice = pa.concat_tables([TABLE, TABLE])
    events = read(twice, feedback="implicit", duplicates="last")  # they are equal: no time needed
    assert events.block.items.tolist() == ratings.block.items.tolist()


def test_declared_scale():
    scale = read(TABLE, scale=(0, 7)).scale
    assert (scale.low, scale.high, scale.origin) == (0, 7, "declared")
    clipped = read(TABLE, scale=(2, 4), out_of_scale="clip")
    assert clipped.block.values.tolist() == [2.0, 2.0, 3.0, 4.0, 4.0]


def test_scale_is_compared_in_the_precision_of_the_ratings():
    tenth = pa.table({"user": [1, 2], "item": [1, 1], "rating": pa.array([0.1, 0.9], pa.float32())})
    assert read(tenth, scale=(0.1, 0.9)).n_users == 2


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [
        ([0, 1], (0, 1)),
        ([-1, 1], (-1, 1)),
        ([1, 2], (1, 5)),
        ([0.5, 4], (0.5, 5)),
        ([0, 4], (0, 5)),
        ([1, 6], (1, 10)),
        ([0, 10], (0, 10)),
        ([-9.9, 3], (-10, 10)),
        ([50, 100], (0, 100)),
    ],
)
def test_recognised_scales(ratings, scale):
    found = read(pa.table({"user": [1, 2], "item": [1, 1], "rating": ratings})).scale
    assert (found.low, found.high, found.origin) == (*scale, "recognised")


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    check(read(TABLE))
    assert not list(tmp_path.iterdir())


def test_rows_beyond_the_memory_limit_spill_to_disk(monkeypatch):
    monkeypatch.setattr("tacit.data.staging.MEMORY", "24MB")
    n = np.random.default_rng(0).permutation(1_000_000)
    table = pa.table({"user": n // 100, "item": n % 100, "rating": n % 5 + 1.0})
    block = read(table).block
    assert np.array_equal(block.items, np.arange(1_000_000) % 100)
    assert np.array_equal(block.values, np.arange(1_000_000) % 5 + 1)


def test_frame_libraries_are_not_needed(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(lines(","))
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.partition('.')[0] in ('pandas', 'polars'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"from tacit.data.read import read\nprint(read({str(path)!r}, items=['a', 'b', 'c']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Ratings(users=3, items=3")


PAIRS = st.dictionaries(
    st.tuples(st.integers(-5, 20), st.integers(0, 9)), st.integers(1, 5), min_size=1, max_size=60
)


@given(PAIRS, st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_equals_sorting_in_memory(pairs, random):
    pairs = {**pairs, (100, 0): 1, (101, 0): 2}
    rows = [(*pair, rating) for pair, rating in pairs.items()]
    random.shuffle(rows)
    users, items, ratings = zip(*rows, strict=True)
    found = read(pa.table({"user": users, "item": items, "rating": ratings}))
    wanted = sorted(rows)
    assert found.user_ids.tolist() == sorted(set(users))
    assert found.catalogue.ids.tolist() == sorted(set(items))
    of_rating = found.user_ids[found.block.user_of_rating()]
    assert (
        list(
            zip(of_rating, found.catalogue.ids[found.block.items], found.block.values, strict=True)
        )
        == wanted
    )


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "users", "items", "ratings"),
    [
        ("ml-100k", 943, 1682, 100_000),
        ("ml-1m", 6040, 3706, 1_000_209),
        ("jester-1-part1", 24983, 100, 1_810_455),
    ],
)
def test_real_data(real_data, name, users, items, ratings):
    folder = real_data / name
    found = read(folder / "ratings.parquet", items=folder / "items.parquet", unknown_items="refuse")
    assert (found.n_users, len(found.block.items)) == (users, ratings)
    assert items <= found.n_items
    table = pq.read_table(folder / "ratings.parquet")
    order = np.lexsort((table["item"].to_numpy(), table["user"].to_numpy()))
    assert np.array_equal(
        found.user_ids[found.block.user_of_rating()], table["user"].to_numpy()[order]
    )
