# SPDX-License-Identifier: Apache-2.0
"""Threads over blocks of users that are read from disk while others are worked on."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Empty, Queue
from typing import TYPE_CHECKING

from tacit.data.memory import Recollection, SpilledMemory
from tacit.engines.local import add_up, default_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.block import UserBlock
    from tacit.data.prepared import PreparedRows

BLOCKS_AHEAD = 4
"""So many blocks wait at most. With those that threads work on they are all that memory holds."""


class StreamedParquet:
    """Adds up over rows on disk; they are read anew for every sum, and nothing of them is kept.

    What users of an algorithm that replays remember lies on disk too, beside their rows.

    The rules that bounds rest on (`UserBlock.check`) were checked when the rows were prepared, and
    checksums when they were opened. Files can be changed after that, so every block is checked
    again when it is read: what breaks a rule is never added up.
    """

    def __init__(
        self,
        rows: PreparedRows,
        *,
        threads: int | None = None,
        ratings_per_block: int | None = None,
    ) -> None:
        self._rows = rows
        self._threads = threads or default_threads()
        self._ratings_per_block = ratings_per_block
        self._memory = SpilledMemory(rows.folder)

    @property
    def n_users(self) -> int:
        return self._rows.n_users

    @property
    def threads(self) -> int:
        return self._threads

    def blocks(self) -> Iterator[UserBlock]:
        return self._checked()

    def total(self, contribution: Contribution) -> Sums:
        with read_ahead(self._checked()) as blocks:
            return add_up(contribution, blocks, self._threads)

    def _checked(self) -> Iterator[UserBlock]:
        """Every block once it was checked, with what its users remember; cut smaller if wanted."""
        users = ratings = 0
        for each in self._rows.blocks():
            each.check()
            after = users + each.n_users, ratings + len(each.items)
            places = slice(users, after[0]), slice(ratings, after[1])
            block = replace(each, memo=Recollection(self._memory, *places))
            users, ratings = after
            if self._ratings_per_block is None:
                yield block
            else:
                yield from block.split(self._ratings_per_block)


@contextmanager
def read_ahead(
    blocks: Iterable[UserBlock], ahead: int = BLOCKS_AHEAD
) -> Iterator[Iterator[UserBlock]]:
    """The blocks, read by a thread of their own that waits when `ahead` of them wait."""
    waiting: Queue[UserBlock | BaseException | None] = Queue(ahead)
    enough = threading.Event()

    def fill() -> None:
        try:
            for block in blocks:
                waiting.put(block)
                if enough.is_set():
                    return
            waiting.put(None)
        except BaseException as error:  # noqa: BLE001 (raised where the blocks are asked for)
            waiting.put(error)

    reader = threading.Thread(target=fill, name="tacit-read", daemon=True)
    reader.start()
    try:
        yield _arriving(waiting)
    finally:
        enough.set()
        while reader.is_alive():
            with suppress(Empty):
                waiting.get(timeout=0.01)


def _arriving(waiting: Queue[UserBlock | BaseException | None]) -> Iterator[UserBlock]:
    """What the reader hands over until it is done; its error, if it had one."""
    while (block := waiting.get()) is not None:
        if isinstance(block, BaseException):
            raise block
        yield block
