# SPDX-License-Identifier: Apache-2.0
"""Queries against DuckDB, SQLite and a real PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tacit.data.errors import DataError
from tacit.data.read import read

ROWS = [("b", 20, 4.5), ("a", 10, 1.0), ("b", 10, 3.0)]
QUERY = "SELECT person AS user_id, thing AS item_id, opinion AS rating FROM ratings"


def check(ratings):
    assert ratings.user_ids.tolist() == ["a", "b"]
    assert ratings.catalogue.ids.tolist() == [10, 20]
    assert ratings.block.indptr.tolist() == [0, 1, 3]
    assert ratings.block.items.tolist() == [0, 0, 1]
    assert ratings.block.values.tolist() == [1.0, 3.0, 4.5]
    assert (ratings.scale.low, ratings.scale.high) == (1, 5)


@pytest.fixture
def duckdb_file(tmp_path):
    path = tmp_path / "ratings.duckdb"
    with duckdb.connect(path) as database:
        database.execute(
            "CREATE TABLE ratings (person VARCHAR, thing INTEGER, opinion DECIMAL(2,1))"
        )
        database.executemany("INSERT INTO ratings VALUES (?, ?, ?)", ROWS)
    return path


def test_duckdb_file(duckdb_file):
    check(read(duckdb_file, query=QUERY))
    duckdb.connect(duckdb_file).close()  # nothing holds it any more


def test_duckdb_file_is_closed_after_a_failure(duckdb_file):
    for query in ("SELECT * FROM absent", "SELECT 1 AS x"):
        with pytest.raises(DataError):
            read(duckdb_file, query=query)
    duckdb.connect(duckdb_file).close()


def test_query_sees_no_variable_of_this_program(duckdb_file):
    with pytest.raises(DataError, match="CatalogException"):
        read(duckdb_file, query="SELECT * FROM picks")


def test_duckdb_connection_and_relation(duckdb_file):
    with duckdb.connect(duckdb_file) as database:
        check(read(database, query=QUERY))
        check(read(database.sql(QUERY)))


def test_connection_without_query_is_refused():
    with duckdb.connect() as database, pytest.raises(DataError, match="query='SELECT"):
        read(database)


@pytest.mark.parametrize("form", ["path", "url"])
def test_sqlite(tmp_path, form):
    path = tmp_path / "odd name?.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE ratings (person TEXT, thing INTEGER, opinion NUMERIC)")
        database.executemany("INSERT INTO ratings VALUES (?, ?, ?)", ROWS)
    check(read(path if form == "path" else f"sqlite:///{path}", query=QUERY))


def test_sqlite_is_read_in_several_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.data.databases.ROWS_AT_ONCE", 2)
    path = tmp_path / "ratings.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE ratings (person TEXT, thing INTEGER, opinion NUMERIC)")
        database.executemany("INSERT INTO ratings VALUES (?, ?, ?)", ROWS)
    check(read(path, query=QUERY))


def test_urls_without_query_are_refused():
    for url in ("sqlite:///ratings.db", "postgresql://localhost/ratings"):
        with pytest.raises(DataError, match="query='SELECT"):
            read(url)


def binary(name):
    """A program of PostgreSQL, beside the others of its newest version, else on the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    return next((str(v / name) for v in versions[::-1] if (v / name).exists()), shutil.which(name))


@pytest.fixture(scope="module")
def postgresql():
    """URL of a throw-away server; PostgreSQL refuses to be run by root."""
    initdb, control = binary("initdb"), binary("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("PostgreSQL is not installed: no initdb and pg_ctl")
    identity = {}
    if os.geteuid() == 0:
        pwd = pytest.importorskip("pwd")
        nobody = pwd.getpwnam("nobody")
        identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="tacit-postgresql-") as folder:
        if identity:
            os.chown(folder, identity["user"], identity["group"])
        data, log = f"{folder}/data", f"{folder}/log"
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"

        def run(*command):
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **identity)

        run(initdb, "-D", data, "-A", "trust", "-U", "tester", "--no-sync")
        run(control, "-D", data, "-l", log, "-o", options, "-w", "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "stop")


@pytest.fixture
def postgresql_table(postgresql):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS ratings")
        cursor.execute("CREATE TABLE ratings (person TEXT, thing INTEGER, opinion NUMERIC(2,1))")
        for row in ROWS:
            cursor.execute(
                "INSERT INTO ratings VALUES ($1, $2, $3::text::numeric)", (*row[:2], str(row[2]))
            )
        connection.commit()
    return postgresql


def test_postgresql(postgresql_table):
    check(read(postgresql_table, query=QUERY))


def test_postgresql_streams_many_rows(postgresql):
    query = (
        "SELECT n / 100 AS user, n % 100 AS item, 1 + n % 5 AS rating "
        "FROM generate_series(0, 299999) AS s(n)"
    )
    ratings = read(postgresql, query=query)
    assert ratings.n_users == 3000
    assert np.array_equal(ratings.block.values, 1 + np.arange(300_000) % 5)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("THIS IS NO SQL", "refused the query"),
        ("SELECT * FROM absent", "refused the query"),
        (
            "SELECT person::int AS user, thing AS item, opinion AS rating FROM ratings",
            "refused|broke",
        ),
        ("SELECT person FROM ratings", "no user column"),
    ],
)
def test_postgresql_refusals_quote_nothing(postgresql_table, query, message):
    with pytest.raises(DataError, match=message) as caught:
        read(postgresql_table, query=query)
    assert '"b"' not in str(caught.value)
    assert caught.value.__context__ is None


def test_postgresql_database_that_does_not_exist(postgresql):
    with pytest.raises(DataError, match="cannot reach"):
        read(postgresql.replace("/postgres", "/absent"), query="SELECT 1")
