# SPDX-License-Identifier: Apache-2.0
"""Arrays in files without a name: they are gone when the process is, however it ends."""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


class SpilledArray:
    """Rows of one shape and type in a file, read and written a slice at a time; zeros at first.

    No part of it is mapped into memory. As private as what is written: nobody else can open it,
    and where the system allows it the file has no name at any time.

    Raises:
        OSError: no file can be made there; or, when writing, the disk is full.
    """

    def __init__(self, folder: Path, row: tuple[int, ...], kind: np.dtype[Any]) -> None:
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (closed with this object)
            prefix="tacit-memo-", dir=folder, buffering=0
        )
        self.close = weakref.finalize(self, self._file.close)
        self._row = row
        self._kind = kind
        self._bytes_per_row = int(np.prod(row, dtype=np.int64)) * kind.itemsize

    # close() gives the space on the disk back.

    def __getitem__(self, where: slice) -> NDArray[Any]:
        found = np.zeros((where.stop - where.start, *self._row), self._kind)
        raw = found.reshape(-1).view(np.uint8).data if found.size else memoryview(b"")
        self._file.seek(where.start * self._bytes_per_row)
        done = 0
        while done < len(raw) and (read := self._file.readinto(raw[done:])):
            done += read
        return found

    def __setitem__(self, where: slice, rows: NDArray[Any]) -> None:
        """Write them all, or raise."""
        left = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        self._file.seek(where.start * self._bytes_per_row)
        while len(left):
            written = self._file.write(left)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left = left[written:]
