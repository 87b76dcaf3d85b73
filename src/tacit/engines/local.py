# SPDX-License-Identifier: Apache-2.0
"""Threads over blocks of users in memory."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.block import UserBlock

RATINGS_PER_BLOCK = 1 << 18

# Every block is added into all of the sums, so a contribution with very many of them gets larger
# blocks: at least one rating for so many numbers.
_NUMBERS_PER_RATING = 64


def default_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalThreads:
    """Adds up over all users of one block, several sub-blocks at a time.

    Sums are integers, so they are equal for every number of threads and block size. What breaks a
    rule that bounds rest on is refused here, before anything is asked: see `UserBlock.check`.
    """

    def __init__(
        self,
        users: UserBlock,
        *,
        threads: int | None = None,
        ratings_per_block: int = RATINGS_PER_BLOCK,
    ) -> None:
        users.check()
        self._users = replace(users, first=0).remembering()
        self._threads = threads or default_threads()
        self._ratings_per_block = ratings_per_block

    @property
    def n_users(self) -> int:
        return self._users.n_users

    @property
    def threads(self) -> int:
        return self._threads

    def blocks(self) -> Iterator[UserBlock]:
        yield self._users

    def total(self, contribution: Contribution) -> Sums:
        numbers = sum(part.size for part in contribution.parts)
        fair = len(self._users.items) // (2 * self._threads)
        wanted = min(numbers // _NUMBERS_PER_RATING, fair)
        blocks = self._users.split(max(wanted, self._ratings_per_block))
        return add_up(contribution, blocks, self._threads)


def add_up(contribution: Contribution, blocks: Iterator[UserBlock], threads: int) -> Sums:
    """The contribution summed over all blocks; every thread has sums of its own until the end."""
    lock = threading.Lock()
    if threads == 1:
        return _drain(contribution, blocks, lock)
    with ThreadPoolExecutor(threads, thread_name_prefix="tacit") as pool:
        jobs = [pool.submit(_drain, contribution, blocks, lock) for _ in range(threads)]
    total, *others = (job.result() for job in jobs)
    for sums in others:
        for name, array in sums.items():
            total[name] += array
    return total


def _drain(contribution: Contribution, blocks: Iterator[UserBlock], lock: threading.Lock) -> Sums:
    """Add up blocks from a shared iterator until none is left."""
    sums = contribution.zeros()
    while True:
        with lock:
            block = next(blocks, None)
        if block is None:
            return sums
        contribution.add(block, sums)
