# SPDX-License-Identifier: Apache-2.0
"""Whether ratings would fill too much of the memory, from the sizes of their files alone."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tacit.data.files import kind_of, paths_of

SHARE = 0.25
"""Of this machine's memory (or its container's): larger ratings stay on disk where `stream="auto"`.
Training needs room as well, and others may be at work."""

BYTES_IN_MEMORY = 8
"""Of one rating: item and value."""

BYTES_IN_TEXT = 12
"""The least that a line takes: what a text file becomes in memory is rather over- than
underestimated by it."""


def is_large(source: object) -> bool:
    """Whether the files of this source hold more ratings than `SHARE` of the memory."""
    return bytes_in_memory(source) > SHARE * memory()


def bytes_in_memory(source: object) -> float:
    """What the ratings of a file, folder or pattern would take in memory; 0 for anything else."""
    if not isinstance(source, (str, Path)) or "://" in str(source):
        return 0
    return BYTES_IN_MEMORY * sum(_rows(path) for path in paths_of(Path(source).expanduser()))


def _rows(path: Path) -> float:
    """How many rows a file has, or about: nothing is read but its end."""
    if path.is_file() and kind_of(path) == "parquet":
        try:
            return float(pyarrow.parquet.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError):
            return 0  # reading will say what is wrong with it
    return path.stat().st_size / BYTES_IN_TEXT if path.is_file() else 0


def memory() -> float:
    """Bytes of this machine's memory, or of the container's limit where that is less."""
    limit = Path("/sys/fs/cgroup/memory.max")
    sizes = [float(text) for text in _words(limit) if text.isdigit()]
    if hasattr(os, "sysconf"):
        sizes.append(float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES"))
    return min(sizes, default=float("inf"))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []
