# SPDX-License-Identifier: Apache-2.0
"""A Spark session of our own, for a path and the address of a master."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tacit.data.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST_SPARK, OLDEST_JAVA = 4, 17
PATIENCE = 5.0
"""Seconds that a master has to answer."""

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.io.encryption.enabled": "true",
}
"""Nothing is told about tasks, and what spills is encrypted. `spark.` settings go before these."""

_MASTER = re.compile(
    r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[\d+,\s*\d+,\s*\d+\]|yarn|"
    r"spark://[\w.-]+:\d+(,[\w.-]+:\d+)*|k8s://(https?://)?[\w.-]+(:\d+)?/?"
)


@contextmanager
def session(master: str, settings: dict[str, str] | None = None) -> Iterator[Any]:
    """A session that ends with the block.

    Raises:
        DataError: PySpark or Java is absent or too old, or nobody answers at this address.
    """
    check_pyspark()
    check_java()
    check_master(master)
    from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)

    if master.startswith("local"):  # workers of this machine run this very Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("tacit")
    for name, value in (_QUIET | (settings or {})).items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 (py4j, Java and Spark have errors of their own)
        kind = type(error).__name__
    else:
        try:
            yield spark
        finally:
            spark.stop()
        return
    raise DataError(
        f"Spark could not be started at {master!r} ({kind}): look at what spark-submit says there"
    )


def check_pyspark() -> None:
    """It is there, and new enough."""
    if importlib.util.find_spec("pyspark") is None:
        raise DataError("Spark needs an extra: pip install 'tacit[spark]'")
    found = version("pyspark")
    if int(found.partition(".")[0]) < OLDEST_SPARK:
        raise DataError(f"PySpark {OLDEST_SPARK} or newer is needed, and this is {found}")


def check_java() -> None:
    """It is there, and new enough for Spark 4."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else str(Path(home) / "bin" / "java")
    try:
        told = subprocess.run(  # noqa: S603 (the Java that Spark would start)
            [java or "java", "-version"], capture_output=True, text=True, check=True
        ).stderr
    except (OSError, subprocess.CalledProcessError):
        told = ""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None:
        raise DataError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and there is none: install it, or set "
            "JAVA_HOME to its folder"
        )
    if int(found[1]) < OLDEST_JAVA:
        raise DataError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and this is Java {found[1]}: set JAVA_HOME "
            "to the folder of a newer one"
        )


def check_master(master: str) -> None:
    """The address is one that Spark knows, and somebody is there; Spark itself waits a minute."""
    if not _MASTER.fullmatch(master):
        raise DataError(
            "master must be local[2], spark://host:port, yarn or k8s://https://host:port, "
            f"got {master!r}"
        )
    places = _places(master)
    if places and not any(map(_answers, places)):
        raise DataError(
            f"nobody answers at {master!r}: check host and port, and that the master is running"
        )


def _places(master: str) -> list[tuple[str, int]]:
    """Hosts and ports in the address; none where Spark finds them out by itself."""
    if master.startswith("k8s://"):
        url = master.removeprefix("k8s://")
        parts = urlsplit(url if "://" in url else f"https://{url}")
        usual = 80 if parts.scheme == "http" else 443
        return [(parts.hostname or "", parts.port or usual)]
    if not master.startswith("spark://"):
        return []
    pairs = (each.rpartition(":") for each in master.removeprefix("spark://").split(","))
    return [(host, int(port)) for host, _, port in pairs]


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, PATIENCE).close()
    except OSError:
        return False
    return True
