# SPDX-License-Identifier: Apache-2.0
"""Threads over blocks of users in memory."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.block import UserBlock

RATINGS_PER_BLOCK = 1 << 18


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
        self._users = users.remembering()
        self._threads = threads or default_threads()
        self._ratings_per_block = ratings_per_block

    @property
    def n_users(self) -> int:
        return self._users.n_users

    def total(self, contribution: Contribution) -> Sums:
        blocks = self._users.split(self._ratings_per_block)
        if self._threads == 1:
            return _drain(contribution, blocks, threading.Lock())
        lock = threading.Lock()
        with ThreadPoolExecutor(self._threads, thread_name_prefix="tacit") as pool:
            jobs = [pool.submit(_drain, contribution, blocks, lock) for _ in range(self._threads)]
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
