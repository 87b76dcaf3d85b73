# SPDX-License-Identifier: Apache-2.0
"""What the users of a block still know from an earlier step, kept beside their rows."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tacit.data.spilled import SpilledArray

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MOST_BYTES = 4 << 30

Along = Literal["users", "ratings"]


class _Kept(NamedTuple):
    """One array over all users or ratings, and for each entry the number of the key it is of."""

    states: NDArray[Any] | SpilledArray
    stamps: NDArray[np.int32] | SpilledArray
    like: tuple[tuple[int, ...], np.dtype[Any]]

    def __repr__(self) -> str:
        return "_Kept(<private rows>)"


class Memory:
    """Holds one array along the users of a block and one along its ratings, the latest of each.

    As private as the rows themselves: it lies with them, and only contributions ask it. Every entry
    is stamped with the key of what it is the result of, so that asking for anything else finds
    nothing. Threads may ask and keep at once.

    most_bytes: an array that would be larger is not kept.
    """

    def __init__(self, n_users: int, n_ratings: int, most_bytes: int = MOST_BYTES) -> None:
        self._sizes: dict[Along, int] = {"users": n_users, "ratings": n_ratings}
        self._most_bytes = most_bytes
        self._kept: dict[Along, _Kept] = {}
        self._numbers: dict[bytes, int] = {}
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[type[Memory], tuple[int, int, int]]:
        """A copy in another process starts empty."""
        return Memory, (self._sizes["users"], self._sizes["ratings"], self._most_bytes)

    def everyone(self) -> Recollection:
        """All users of the block."""
        return Recollection(self, slice(0, self._sizes["users"]), slice(0, self._sizes["ratings"]))

    def recall(self, key: bytes, along: Along, where: slice) -> NDArray[Any] | None:
        with self._lock:
            kept, number = self._kept.get(along), self._numbers.get(key)
            if kept is None or number is None or not np.all(kept.stamps[where] == number):
                return None
            return kept.states[where].copy()

    def keep(self, key: bytes, along: Along, where: slice, states: NDArray[Any]) -> None:
        with self._lock:
            kept = self._kept.get(along)
            like = states.shape[1:], states.dtype
            if kept is None or kept.like != like:
                kept = self._room(along, *like) if len(states) else None
                if kept is None:
                    return
                self._kept[along] = kept
            kept.states[where] = states
            number = self._numbers.setdefault(key, len(self._numbers) + 1)
            kept.stamps[where] = np.full(len(states), number, np.int32)

    def _room(self, along: Along, row: tuple[int, ...], kind: np.dtype[Any]) -> _Kept | None:
        """Arrays for rows of this kind, stamped with no key; None if they are too large."""
        size = self._sizes[along]
        if size * math.prod(row) * kind.itemsize > self._most_bytes:
            return None
        return _Kept(np.zeros((size, *row), kind), np.zeros(size, np.int32), (row, kind))


class SpilledMemory(Memory):
    """The same on disk, for rows that lie there: files without a name in their folder.

    Where a file cannot be made, read or written, as on a full disk, nothing is known any more, and
    users start over.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(0, 0)
        self._folder = folder
        self._broken = False

    def __reduce__(self) -> tuple[type[Memory], tuple[int, int, int]]:
        raise TypeError("what lies beside rows on disk does not travel")

    def recall(self, key: bytes, along: Along, where: slice) -> NDArray[Any] | None:
        with self._lock:
            try:
                return super().recall(key, along, where)
            except OSError:
                self._give_up()
                return None

    def keep(self, key: bytes, along: Along, where: slice, states: NDArray[Any]) -> None:
        with self._lock:
            try:
                super().keep(key, along, where, states)
            except OSError:
                self._give_up()

    def close(self) -> None:
        """Give the space on the disk back."""
        for along in list(self._kept):
            self._forget(along)

    def _room(self, along: Along, row: tuple[int, ...], kind: np.dtype[Any]) -> _Kept | None:
        if self._broken:
            return None
        self._forget(along)
        states = SpilledArray(self._folder, row, kind)
        return _Kept(states, SpilledArray(self._folder, (), np.dtype(np.int32)), (row, kind))

    def _forget(self, along: Along) -> None:
        kept = self._kept.pop(along, None)
        for array in kept[:2] if kept else ():
            if isinstance(array, SpilledArray):
                array.close()

    def _give_up(self) -> None:
        """What was half written must not be found."""
        self._broken = True
        self.close()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Recollection:
    """The part of a memory that belongs to some neighbouring users."""

    memory: Memory
    users: slice
    ratings: slice

    def part(self, users: slice, ratings: slice) -> Recollection:
        """The same for some of these users, counted from the first of them."""
        return Recollection(self.memory, _within(self.users, users), _within(self.ratings, ratings))

    def recall(self, key: bytes, along: Along) -> NDArray[Any] | None:
        """What was kept under this very key for every one of them; None where it was not."""
        return self.memory.recall(key, along, self._where(along))

    def keep(self, key: bytes, along: Along, states: NDArray[Any]) -> None:
        """Replaces what is kept for these users (or ratings)."""
        self.memory.keep(key, along, self._where(along), states)

    def _where(self, along: Along) -> slice:
        return self.users if along == "users" else self.ratings


def _within(outer: slice, inner: slice) -> slice:
    return slice(outer.start + inner.start, outer.start + inner.stop)
