# SPDX-License-Identifier: Apache-2.0
"""Every kind of bad input has a clear error that quotes nobody. docs/reading.md lists the cases."""

from __future__ import annotations

import logging
import re
import socket
import sqlite3
import tempfile
import traceback
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import tacit.data.numbering
from tacit.data.errors import DataError
from tacit.data.read import read
from tacit.data.staging import Staging

DOCUMENT = Path(__file__).parents[3] / "docs" / "reading.md"

USER = "zebra-quill"
ITEM = "yodel-fig"
NUMBER = 918273645
RATING = 2.718281
CANARIES = (USER, ITEM, str(NUMBER), "2.71828", "9182736.45")

GOOD = {"user": [USER, "b", "c"], "item": [ITEM, "x", "x"], "rating": [RATING, 3.0, 4.0]}

CASES = {}


def case(*fragments):
    """Register a builder of (source, keywords), and what the message must say."""

    def register(build):
        CASES[build.__name__.replace("_", "-")] = (build, fragments)
        return build

    return register


def changed(**columns):
    return pa.table({**GOOD, **columns})


def text(folder, *lines, name="ratings.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


# Columns


@case("no user column", "user_id", "user=...")
def no_user_column(folder, patch):
    return pa.table({USER: [1.0], "item": [ITEM], "rating": [RATING]}), {}


@case("no item column", "item=...")
def no_item_column(folder, patch):
    return text(folder, f"user,{ITEM},rating", f"{USER},{ITEM},{RATING}"), {}


@case("no rating column", "rating=...")
def no_rating_column(folder, patch):
    return pd.DataFrame({"user": [USER], "item": [ITEM], USER: [RATING]}), {}


@case("user='member_no'", "none of the 3 columns")
def named_column_is_absent(folder, patch):
    return pa.table(GOOD), {"user": "member_no"}


@case("'userId', 'uid'", "user=...")
def two_columns_fit(folder, patch):
    return changed(userId=[USER] * 3, uid=[USER] * 3).drop_columns(["user"]), {}


@case("one column is named for two roles")
def one_column_for_two_roles(folder, patch):
    return changed(who=[USER] * 3), {"user": "who", "item": "who"}


@case("rating='Score'", "2 columns have that name")
def names_that_differ_by_case(folder, patch):
    return changed(Score=[RATING] * 3, score=[RATING] * 3), {"rating": "Score"}


# Rows


@case("is empty")
def empty_file(folder, patch):
    path = folder / "ratings.csv"
    path.touch()
    return path, {}


@case("no rows")
def header_and_no_rows(folder, patch):
    return text(folder, "user,item,rating"), {}


@case("no rows")
def table_without_rows(folder, patch):
    return pa.table(GOOD).slice(0, 0), {}


@case("no rows")
def stream_without_rows(folder, patch):
    return pa.RecordBatchReader.from_batches(pa.table(GOOD).schema, []), {}


@case("no header line", "user,item,rating")
def no_header_line(folder, patch):
    return text(folder, f"{USER},{ITEM},{RATING}", f"b,{ITEM},3"), {}


@case("line 3", "number of fields")
def line_with_other_fields(folder, patch):
    return text(folder, "user,item,rating", f"b,{ITEM},3", f"{USER},{ITEM}"), {}


@case("line 3", "UTF-8")
def not_utf8_rows(folder, patch):
    path = folder / "ratings.csv"
    path.write_bytes(f"user,item,rating\nb,x,3\n{USER}\xff\xfe,{ITEM},{RATING}\n".encode("latin-1"))
    return path, {}


@case("neither Parquet nor UTF-8")
def not_text_at_all(folder, patch):
    path = folder / "ratings.csv"
    path.write_text(f"user,item,rating\n{USER},{ITEM},{RATING}\n", encoding="utf-16")
    return path, {}


# Ratings


@case("column 'rating'", "row 2 is NaN or infinite")
def nan_rating(folder, patch):
    return changed(rating=[RATING, np.nan, 4.0]), {}


@case("column 'rating'", "row 3 is NaN or infinite")
def infinite_rating(folder, patch):
    return pl.DataFrame({**GOOD, "rating": [RATING, 3.0, -np.inf]}), {}


@case("column 'rating'", "row 2 has no value")
def missing_rating(folder, patch):
    return text(folder, "user,item,rating", f"{USER},{ITEM},{RATING}", "b,x,", "c,x,3"), {}


@case("column 'score'", "row 2 is not a number")
def rating_is_a_word(folder, patch):
    return text(folder, "user,item,score", f"b,{ITEM},3", f"{USER},{ITEM},{USER}"), {}


@case("column 'rating'", "has type TIMESTAMP", "ratings are numbers")
def rating_of_wrong_type(folder, patch):
    return changed(rating=pa.array([NUMBER] * 3, pa.timestamp("us"))), {}


@case("row 3 is outside the declared scale 1 to 5", "out_of_scale='clip'")
def rating_outside_declared_scale(folder, patch):
    return changed(rating=[3.0, 4.0, 5 + RATING]), {"scale": (1, 5)}


@case("none of the usual scales", "scale=(low, high)")
def rating_outside_usual_scales(folder, patch):
    return changed(rating=[3.0, 4.0, float(NUMBER)]), {}


@case("(privacy)", "row 2 is not a number from 0 to 1")
def privacy_out_of_range(folder, patch):
    return changed(privacy=[0.5, NUMBER, None]), {}


@case("(privacy)", "row 2 differs from another row of its user")
def privacy_of_two_kinds(folder, patch):
    return changed(user=[USER, USER, "c"], item=[ITEM, "x", "x"], privacy=[0.25, 0.5, None]), {}


@case("two finite numbers")
def scale_upside_down(folder, patch):
    return pa.table(GOOD), {"scale": (5, 1)}


@case("needs a scale to clip to")
def clip_to_no_scale(folder, patch):
    return pa.table(GOOD), {"out_of_scale": "clip"}


@case("row 1 is negative", "counts from 0")
def negative_count(folder, patch):
    return changed(rating=[-RATING, 3.0, 4.0]), {"feedback": "implicit", "rating": "rating"}


# Ids


@case("column 'user'", "row 2 has no value")
def missing_user_id(folder, patch):
    return changed(user=[USER, None, "c"]), {}


@case("column 'item'", "row 3 has no value")
def missing_item_id(folder, patch):
    return changed(item=[ITEM, "x", None]), {}


@case("column 'user'", "row 1 has no value")
def user_ids_all_missing(folder, patch):
    return changed(user=pa.nulls(3)), {}


@case("column 'user'", "has type DOUBLE", "integers or strings", "missing")
def ids_are_fractions(folder, patch):
    return pd.DataFrame({**GOOD, "user": [NUMBER, np.nan, 3]}), {}


@case("column 'user'", "several types")
def ids_of_two_types_in_pandas(folder, patch):
    return pd.DataFrame({**GOOD, "user": pd.Series([USER, NUMBER, "c"], dtype=object)}), {}


@case("column 'item'", "several types")
def ids_of_two_types_in_polars(folder, patch):
    return pl.DataFrame({**GOOD, "item": pl.Series([ITEM, NUMBER, 1], dtype=pl.Object)}), {}


@case("column 'user'", "row 2 is of another type", "CAST")
def ids_of_two_types_in_sqlite(folder, patch):
    path = folder / "ratings.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE r (user, item, rating)")
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", [(1, ITEM, RATING), (USER, ITEM, 3)])
    return path, {"query": "SELECT * FROM r"}


@case("item ids are strings in the ratings and integers in the catalogue")
def ids_and_catalogue_differ_by_type(folder, patch):
    return changed(item=[str(NUMBER), "1", "2"]), {"items": [NUMBER, 1, 2]}


@case("user ids differ only by type", "7, 07 and 7.0")
def ids_written_in_two_ways(folder, patch):
    return text(folder, "user,item,rating", f"{NUMBER},a,3", f"{NUMBER}.0,b,4"), {}


@case("beyond 64-bit integers")
def ids_too_large(folder, patch):
    return changed(user=pa.array([2**63 + NUMBER, 1, 2], pa.uint64())), {}


@case("one user only")
def one_user_only(folder, patch):
    return changed(user=[USER] * 3, item=["x", "y", ITEM]), {}


@case("more than 2 items")
def more_items_than_numbers(folder, patch):
    patch.setattr(tacit.data.numbering, "MOST_IDS", 2)
    return changed(item=[ITEM, "x", "y"], user=[USER, "b", "b"]), {}


# Catalogue


@case("row 1 rates an item that is not in the catalogue", "unknown_items='drop'")
def unknown_item(folder, patch):
    return pa.table(GOOD), {"items": ["x", "y"]}


@case("none of the rated items")
def no_known_item(folder, patch):
    return pa.table(GOOD), {"items": ["p", "q"], "unknown_items": "drop"}


@case("catalogue (items=)", "no items")
def catalogue_without_items(folder, patch):
    return pa.table(GOOD), {"items": pa.table({"item": pa.array([], pa.string())})}


@case("catalogue (items=)", "more than once")
def catalogue_repeats_an_item(folder, patch):
    return pa.table(GOOD), {"items": [ITEM, "x", "x"]}


@case("catalogue (items=)", "row 2 has no value")
def catalogue_lacks_an_id(folder, patch):
    return pa.table(GOOD), {"items": [ITEM, None, "x"]}


@case("catalogue (items=)", "all integers or all strings")
def catalogue_of_two_types(folder, patch):
    return pa.table(GOOD), {"items": [ITEM, NUMBER]}


@case("items= cannot be a set")
def catalogue_of_wrong_kind(folder, patch):
    return pa.table(GOOD), {"items": {ITEM, "x"}}


@case("no items")
def matrix_without_items(folder, patch):
    return scipy.sparse.csr_array((3, 0)), {"user_axis": "rows"}


# Duplicates


@case("row 3 repeats the user and item", "duplicates='last'")
def repeated_pair(folder, patch):
    return changed(user=[USER, "b", USER], item=[ITEM, "x", ITEM]), {}


@case("rated an item twice at the same time")
def last_of_a_tie(folder, patch):
    table = changed(user=[USER, "b", USER], item=[ITEM, "x", ITEM], timestamp=[NUMBER] * 3)
    return table, {"duplicates": "last"}


@case("no timestamp column", "timestamp=...")
def last_without_timestamp(folder, patch):
    return pa.table(GOOD), {"duplicates": "last"}


@case("column 'time'", "row 2 is neither a number nor a date")
def timestamp_is_a_word(folder, patch):
    lines = ["user,item,rating,time", "b,x,3,17", f"{USER},{ITEM},{RATING},{USER}"]
    return text(folder, *lines), {"duplicates": "last"}


# Orientation


@case("orientation looks wrong", "swap user= and item=")
def names_swapped(folder, patch):
    return pa.table(GOOD), {"user": "item", "item": "user"}


@case("orientation looks wrong", "every user id is in the catalogue")
def ids_swapped(folder, patch):
    table = changed(user=["x", "x", "y"], item=[USER, "b", USER])
    return table, {"items": ["x", "y", "z"]}


@case("user_axis='rows' if each row is a user")
def matrix_without_user_axis(folder, patch):
    return scipy.sparse.csr_array(np.full((3, 2), RATING)), {}


@case("the matrix has 2 items, but items= lists 3", "the other user_axis fits")
def matrix_lying_on_its_side(folder, patch):
    matrix = scipy.sparse.csr_array(np.full((3, 2), RATING))
    return matrix, {"user_axis": "rows", "items": ["x", "y", ITEM]}


@case("user_axis= goes with a sparse matrix")
def user_axis_of_a_table(folder, patch):
    return pa.table(GOOD), {"user_axis": "rows"}


# Files


@case("no file", "did you mean", "ratings.csv")
def file_not_found(folder, patch):
    text(folder, "user,item,rating")
    return folder / "rating.csv", {}


@case("there is no folder")
def folder_not_found(folder, patch):
    return folder / "absent" / "ratings.csv", {}


@case("holds no .parquet file")
def folder_without_parquet(folder, patch):
    return folder, {}


@case("not a whole Parquet file")
def truncated_parquet(folder, patch):
    path = folder / "ratings.parquet"
    pq.write_table(pa.table(GOOD), path)
    path.write_bytes(path.read_bytes()[:-200])
    return path, {}


@case("cannot be read to the end")
def damaged_parquet(folder, patch):
    path = folder / "ratings.parquet"
    pq.write_table(pa.table({name: values * 5000 for name, values in GOOD.items()}), path)
    whole = bytearray(path.read_bytes())
    whole[4:400] = b"\xff" * 396
    path.write_bytes(whole)
    return path, {}


@case("column 'user'", "differs between them")
def parquet_files_that_differ(folder, patch):
    pq.write_table(pa.table(GOOD), folder / "1.parquet")
    pq.write_table(changed(user=[NUMBER, 2, 3]), folder / "2.parquet")
    return folder, {}


@case("zip archive", "unpack it")
def zip_archive(folder, patch):
    path = folder / "ratings.zip"
    path.write_bytes(b"PK\x03\x04" + USER.encode())
    return path, {}


@case("cannot read a dict")
def unsupported_type(folder, patch):
    return {USER: {ITEM: RATING}}, {}


@case("the stream of rows broke off")
def stream_that_breaks(folder, patch):
    def batches():
        yield pa.RecordBatch.from_pydict(GOOD)
        raise KeyError(USER)

    return pa.RecordBatchReader.from_batches(pa.table(GOOD).schema, batches()), {}


# Rows that stay on disk, and sources in many files


def kept(folder):
    """A folder of rows that an earlier reading left."""
    read(pa.table(GOOD), keep=folder / "kept")
    return folder / "kept"


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


@case("rows-00000.parquet' is missing", "prepare the rows again")
def kept_rows_lack_a_file(folder, patch):
    (kept(folder) / "rows-00000.parquet").unlink()
    return folder / "kept", {}


@case("rows-00000.parquet' is not what was written there", "prepare the rows again")
def kept_rows_are_truncated(folder, patch):
    cut(kept(folder) / "rows-00000.parquet")
    return folder / "kept", {}


@case("preparing was broken off here", "prepare the rows again")
def kept_rows_are_unfinished(folder, patch):
    (kept(folder) / "prepared.json").write_text("")
    return folder / "kept", {}


@case("holds rows that are read already", "leave out scale=")
def kept_rows_read_in_another_way(folder, patch):
    return kept(folder), {"scale": (1, 5)}


@case("is there already", "name a new or an empty folder")
def keep_names_a_folder_in_use(folder, patch):
    return pa.table(GOOD), {"keep": kept(folder)}


@case("privacy_unit='epsilon' needs the rows in memory")
def epsilons_for_rows_on_disk(folder, patch):
    return changed(privacy=[1.0, None, None]), {"stream": True, "privacy_unit": "epsilon"}


@case("2.parquet' is not a whole Parquet file")
def one_of_many_files_is_truncated(folder, patch):
    pq.write_table(pa.table(GOOD), folder / "1.parquet")
    pq.write_table(pa.table(GOOD), folder / "2.parquet")
    cut(folder / "2.parquet")
    return folder, {"stream": True}


@case("cannot be read to the end")
def one_of_many_files_goes_away(folder, patch):
    """Between the look at its columns and the reading of its rows."""
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(pa.table(GOOD), folder / name)
    store = Staging.store

    def later(self, name, rows, picks):
        (folder / "2.parquet").unlink()
        store(self, name, rows, picks)

    patch.setattr(Staging, "store", later)
    return folder, {"stream": True}


@case("rows could not be sorted (No space left on device)", "make room", "TMPDIR")
def disk_full_while_sorting(folder, patch):
    def full(*_):
        raise OSError(28, "No space left on device", USER)

    patch.setattr("tacit.data.sorting.SpilledArray", full)
    return pa.table(GOOD), {}


@case("prepared rows could not be written (No space left on device)", "make room", "keep='folder'")
def disk_full_while_writing(folder, patch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", USER)

    patch.setattr("tacit.data.preparing._writer", full)
    return pa.table(GOOD), {"stream": True}


@case("duplicates must be one of 'refuse', 'last'")
def unknown_option(folder, patch):
    return pa.table(GOOD), {"duplicates": USER}


# Databases


def duckdb_file(folder):
    path = folder / "ratings.duckdb"
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE r (who VARCHAR, item VARCHAR, rating VARCHAR)")
        database.execute("INSERT INTO r VALUES (?, ?, ?)", [USER, ITEM, USER])
    return path


@case("refused the query (ParserException)")
def sql_that_is_no_sql(folder, patch):
    return duckdb_file(folder), {"query": "THIS IS NO SQL"}


@case("refused the query (ConversionException)")
def sql_that_fails_on_a_row(folder, patch):
    return duckdb_file(folder), {
        "query": "SELECT who AS user, item, rating::DOUBLE AS rating FROM r"
    }


@case("refused the query (OperationalError)")
def sql_that_sqlite_refuses(folder, patch):
    path = folder / "ratings.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE r (user, item, rating)")
    return path, {"query": "SELECT * FROM absent"}


@case("it has to be a SELECT")
def sql_without_rows(folder, patch):
    connection = duckdb.connect()
    return connection, {"query": "CREATE TABLE r (who VARCHAR)"}


@case("row 2 is not a number", "CAST")
def sqlite_rating_is_a_word(folder, patch):
    path = folder / "ratings.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE r (user, item, rating)")
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", [("b", ITEM, 3), (USER, ITEM, USER)])
    return path, {"query": "SELECT * FROM r"}


@case("query='SELECT ...'")
def database_without_query(folder, patch):
    return duckdb_file(folder), {}


@case("query= goes with a database")
def query_of_a_text_file(folder, patch):
    return text(folder, "user,item,rating", f"{USER},{ITEM},{RATING}"), {"query": "SELECT 1"}


@case("does not exist")
def database_file_not_found(folder, patch):
    return folder / "ratings.duckdb", {"query": "SELECT 1"}


@case("cannot open the DuckDB database")
def database_file_damaged(folder, patch):
    path = folder / "ratings.duckdb"
    path.write_bytes(b"\0" * 8 + b"DUCK" + USER.encode() * 1000)
    return path, {"query": "SELECT 1"}


@case("cannot reach the PostgreSQL database")
def database_unreachable(folder, patch):
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    return f"postgresql://{USER}:{ITEM}@127.0.0.1:{port}/ratings", {"query": "SELECT 1"}


@case("pip install 'tacit[postgres]'")
def postgresql_driver_absent(folder, patch):
    patch.setitem(__import__("sys").modules, "adbc_driver_postgresql", None)
    return "postgresql://127.0.0.1/ratings", {"query": "SELECT 1"}


def refused(name, folder, patch):
    """The error of a case."""
    source, keywords = CASES[name][0](folder, patch)
    with pytest.raises(DataError) as caught:
        read(source, **keywords)
    if isinstance(source, duckdb.DuckDBPyConnection):
        source.close()
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, tmp_path, monkeypatch):
    message = str(refused(name, tmp_path, monkeypatch))
    for fragment in CASES[name][1]:
        assert fragment in message


@pytest.mark.parametrize("name", CASES)
def test_no_error_leads_back_to_a_row(name, tmp_path, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    error = refused(name, tmp_path, monkeypatch)
    assert error.__cause__ is None
    assert error.__context__ is None
    written = capfd.readouterr()
    told = [str(error), repr(error), caplog.text, written.out, written.err]
    told += traceback.format_exception(error)
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert frames[-1].endswith("read.py")
    assert len(frames) == 2  # this file and the front door: no frame whose variables hold rows
    for canary in CANARIES:
        assert canary not in "\n".join(told)


@pytest.mark.parametrize("kind", [duckdb.ConversionException, pa.ArrowInvalid])
def test_the_words_of_a_library_are_withheld(kind, monkeypatch):
    def breaks(*_, **__):
        raise kind("could not convert 'canary-4242'")

    monkeypatch.setattr("tacit.data.read._read", breaks)
    with pytest.raises(DataError, match=kind.__name__) as caught:
        read([])
    assert "canary" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["nan-rating", "line-with-other-fields", "stream-that-breaks"])
def test_failure_leaves_no_file(name, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    refused(name, tmp_path, monkeypatch)
    assert not list(scratch.iterdir())


def test_the_document_lists_each_case_once():
    rows = re.findall(r"^\| .* \| `([a-z0-9-]+)` \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(CASES)
