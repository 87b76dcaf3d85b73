# SPDX-License-Identifier: Apache-2.0
"""Parquet files that executors read, and what Spark says of files in our words."""

from __future__ import annotations

import re
from typing import Any

from tacit.data.errors import DataError

_LENIENT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")

_OF_A_FILE = re.compile(
    r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file \S*?([^/\s]+?)\.?\s"
)
_SAID = {
    "FILE_NOT_EXIST": "is missing now, though it was there at first; read the source again",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH": "has a column of another type than other files; write "
    "all of them with one schema",
}
_BROKEN = (
    "is not a whole Parquet file: it is truncated or damaged, or something else; write or copy it "
    "again"
)


def parquet(spark: Any, path: str) -> Any:
    """The Parquet files at a path that the executors can read, as a DataFrame.

    Raises:
        DataError: nothing is there, a file is empty or damaged, or their schemas differ.
    """
    try:
        frame = spark.read.option("mergeSchema", "true").parquet(path)
        # Spark passes over files without a byte.
        files = spark.read.format("binaryFile").load(path)
        empty = len(files.inputFiles()) != files.select("path").count()
    except Exception as error:  # noqa: BLE001 (Spark's words may quote a row)
        kind, words = type(error).__name__, str(error)
    else:
        if not empty:
            return frame
        raise DataError(f"{path!r}: a file is empty, so that rows are missing; copy it again")
    if "[CANNOT_MERGE_SCHEMAS]" in words:
        raise DataError(f"{path!r}: files differ in their columns; write them with one schema")
    raise of_a_file(words) or DataError(
        f"{path!r} cannot be read as Parquet ({kind}); with Spark, a source is a Parquet file or "
        "folder that every executor can read"
    )


def of_a_file(words: str) -> DataError | None:
    """What Spark says of a file; of its path only the name, as folders may be named after rows."""
    found = _OF_A_FILE.search(words)
    if found is None:
        return None
    return DataError(f"file {found[2]!r} of the source {_SAID.get(found[1], _BROKEN)}")


def check_strict(session: Any) -> None:
    """Refuse a session that passes over files which are missing or damaged."""
    for name in _LENIENT:
        if str(session.conf.get(name, "false")).lower() == "true":
            raise DataError(
                f"{name} is on, so that rows could be missing without a word: set it to false"
            )
