# SPDX-License-Identifier: Apache-2.0
"""A PySpark, Java or master that does not fit is said before anything is started."""

from __future__ import annotations

import importlib.util
import socket

import pytest

from tacit.data import spark_session
from tacit.data.errors import DataError
from tacit.data.spark_session import check_java, check_master, check_pyspark, session


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Makes a Java that says what it is."""

    def make(told):
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / "java"
        program.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return make


@pytest.mark.parametrize("told", ['openjdk version "17.0.15" 2025-04-15', 'java version "21"'])
def test_a_java_that_fits_is_taken(java, told):
    java(told)
    check_java()


@pytest.mark.parametrize(
    ("told", "number"), [('java version "1.8.0_402"', "8"), ('openjdk version "11.0.2"', "11")]
)
def test_an_old_java_is_named(java, told, number):
    java(told)
    with pytest.raises(DataError, match=f"Java 17 or newer, and this is Java {number}: set JAVA_H"):
        check_java()


def test_no_java_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DataError, match="there is none: install it"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="there is none: install it"):
        check_java()


def test_no_pyspark_and_an_old_one_are_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"pip install 'tacit\[spark\]'"):
        check_pyspark()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(spark_session, "version", lambda _: "3.5.1")
    with pytest.raises(DataError, match=r"PySpark 4 or newer is needed, and this is 3\.5\.1"):
        check_pyspark()
    monkeypatch.setattr(spark_session, "version", lambda _: "4.0.0")
    check_pyspark()


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "yarn"])
def test_addresses_that_spark_knows(master):
    check_master(master)


@pytest.mark.parametrize(
    "master", ["", "locale", "local[two]", "http://a:1", "spark://a", "k8s://", "k8s://ftp://a"]
)
def test_other_addresses_are_refused(master):
    with pytest.raises(DataError, match=r"master must be local\[2\], spark://host:port"):
        check_master(master)


def test_a_master_where_nobody_answers(java, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:{port}")
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        for address in (
            f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port}/",
            f"localhost:{port}",
        ):
            check_master(f"k8s://{address}")
    for address in ("https://127.0.0.1:1", "127.0.0.1:1"):
        with pytest.raises(DataError, match="nobody answers at 'k8s://"):
            check_master(f"k8s://{address}")
    java('openjdk version "17"')
    monkeypatch.setattr(spark_session, "check_pyspark", lambda: None)
    with (
        pytest.raises(DataError, match=r"nobody answers at 'spark://127\.0\.0\.1:1'"),
        session("spark://127.0.0.1:1"),
    ):
        pass
