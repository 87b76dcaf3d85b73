# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a state by a thread that writes while others compute; descent goes on from them."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from safetensors import safe_open
from safetensors.numpy import save_file

if TYPE_CHECKING:
    from pathlib import Path

    from tacit.descent.state import State

NAME = "sgd-state.safetensors"


@dataclass(slots=True, eq=False)
class Snapshots:
    """Into `folder`, after every so many chunks, unless the one before is still being written.

    The file has users' factors in it: it is for going on, never for publishing. It is replaced as a
    whole, so a kill at any moment leaves the old one or the new one.

    made_of: what the state depends on beside its own numbers; another one's file is refused.
    """

    folder: Path
    every: int
    made_of: dict[str, Any]
    _writer: threading.Thread | None = field(default=None, init=False)
    _failed: list[BaseException] = field(default_factory=list, init=False)

    def restore(self, state: State) -> int:
        """How many chunks the newest snapshot has seen, after copying it into the state; else 0."""
        path = self.folder / NAME
        if not path.is_file():
            return 0
        with safe_open(path, framework="numpy") as file:
            described = json.loads((file.metadata() or {}).get("descent", "{}"))
            if described.get("made_of") != self.made_of:
                raise ValueError(
                    f"the snapshot in {self.folder} is of other ratings or settings; choose "
                    "another folder, or delete it"
                )
            for name, array in state.arrays().items():
                array[...] = file.get_tensor(name)
        return int(described["chunks"])

    def offer(self, state: State, chunks: int) -> None:
        """Write the state as it is now, if it is time and the writer is free."""
        self._raise()
        if chunks % self.every == 0 and not (self._writer and self._writer.is_alive()):
            copies = {name: array.copy() for name, array in state.arrays().items()}
            self._writer = threading.Thread(
                target=self._write, args=(copies, chunks), name="tacit-writer"
            )
            self._writer.start()

    def close(self, state: State, chunks: int) -> None:
        """Wait for the writer, then write the last state."""
        if self._writer:
            self._writer.join()
        self._write(state.arrays(), chunks)
        self._raise()

    def _write(self, arrays: dict[str, Any], chunks: int) -> None:
        described = json.dumps({"chunks": chunks, "made_of": self.made_of})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            half = self.folder / f"{NAME}.{os.getpid()}.part"
            save_file(arrays, half, metadata={"descent": described})
            with half.open("rb") as written:
                os.fsync(written.fileno())
            half.replace(self.folder / NAME)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that computes
            self._failed.append(error)

    def _raise(self) -> None:
        if self._failed:
            raise self._failed.pop()
