# SPDX-License-Identifier: Apache-2.0
"""What the users of a block still know from an earlier step, kept beside their rows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BYTES = 4 << 30

Along = Literal["users", "ratings"]


class _Kept(NamedTuple):
    """One array over all users or ratings, and for each entry the number of the key it is of."""

    states: NDArray[Any]
    stamps: NDArray[np.int64]


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
        self._lock = threading.Lock()

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
            if kept is None or (kept.states.shape[1:], kept.states.dtype) != like:
                size = self._sizes[along]
                if size * states[:1].nbytes > self._most_bytes or not len(states):
                    return
                kept = _Kept(np.zeros((size, *like[0]), like[1]), np.full(size, -1, np.int64))
                self._kept[along] = kept
            kept.states[where] = states
            kept.stamps[where] = self._numbers.setdefault(key, len(self._numbers))


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
