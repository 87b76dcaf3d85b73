# SPDX-License-Identifier: Apache-2.0
"""The loop of descent: chunk by chunk over a state, several threads within a chunk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.descent.pending import add_pending

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from tacit.descent.chunks import Chunk, Chunks
    from tacit.descent.snapshots import Snapshots
    from tacit.descent.state import State
    from tacit.mechanisms.entropy import NoiseSource


@dataclass(frozen=True, slots=True)
class Descent:
    """Steps of SGD, or of SGLD where the temperature is above 0.

    For each rating: error = rating - mean - offsets - u . v, then

        u <- (1 - rate * ridge) u + rate * error * v        and v likewise, from the u before

    Over an epoch this follows - rate * gradient of F = sum over ratings of
    (error^2 + ridge (|u|^2 + |v|^2 + offsets^2)) / 2. With noise of variance
    2 * rate * temperature an epoch on every number, it samples from exp(-F / temperature).

    rate: step size of the first epoch; that of epoch t is rate / t^decay.
    """

    epochs: int
    rate: float
    decay: float
    ridge: float
    temperature: float = 0.0

    def run(
        self,
        chunks: Chunks,
        state: State,
        *,
        threads: int,
        source: NoiseSource | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        """Train `state` in place. One that is found among the snapshots is gone on from."""
        if self.temperature and source is None:
            raise ValueError("a temperature above 0 needs a source of noise")
        n, stop = len(chunks), self.epochs * len(chunks)
        start = snapshots.restore(state) if snapshots else 0
        with ThreadPoolExecutor(threads, thread_name_prefix="tacit-sgd") as pool:
            for at, chunk in enumerate(chunks.stream(start, stop), start):
                rate = self.rate / (1 + at // n) ** self.decay
                if self.temperature and source:
                    now = self.due(at + 0.5, n)  # half before and half after: second order
                    users = np.arange(chunk.first, chunk.stop, dtype=np.int32)
                    add_noise(state, users, np.unique(chunk.items), now, (source, pool))
                step = np.array([chunks.mean, rate, self.ridge], np.float32)
                take(chunk, state, step, chunks.numbering.groups, (pool, threads))
                if snapshots:
                    snapshots.offer(state, at + 1)
            if self.temperature and source:
                users = np.arange(len(state.U), dtype=np.int32)
                items = np.arange(len(state.V), dtype=np.int32)
                add_noise(state, users, items, self.due(stop, n), (source, pool))
        if snapshots:
            snapshots.close(state, stop)

    def due(self, steps: float, n: int) -> float:
        """The variance that has become due to every number after so many chunks of n an epoch."""
        whole = int(steps // n)
        rest = steps - whole * n
        epochs: list[float] = [self.rate / t**self.decay for t in range(1, whole + 2)]
        return 2 * self.temperature * (sum(epochs[:whole]) + epochs[whole] * rest / n)


def take(
    chunk: Chunk,
    state: State,
    step: NDArray[np.float32],
    groups: int,
    workers: tuple[Executor, int],
) -> None:
    """One gradient step for every rating of the chunk."""
    board = np.zeros(1 + 2 * groups, np.int64)

    def work(_: int) -> None:
        kernels.sgd_tasks(
            chunk.task_visits,
            chunk.visit_ratings,
            chunk.visit_user,
            chunk.items,
            chunk.values,
            step,
            state.U,
            state.V,
            state.user_offsets,
            state.item_offsets,
            board,
        )

    pool, threads = workers
    for _ in pool.map(work, range(threads)):
        pass


def add_noise(
    state: State,
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    now: float,
    draw: tuple[NoiseSource, Executor],
) -> None:
    """What these rows are due."""
    of_users = state.U, state.user_offsets, state.user_clock
    of_items = state.V, state.item_offsets, state.item_clock
    add_pending(of_users, state.rank, users, now, draw)
    add_pending(of_items, state.rank, items, now, draw)
