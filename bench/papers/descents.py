# SPDX-License-Identifier: Apache-2.0
"""Descents of paper 004 that are watched epoch by epoch: what sgld.py and sgld_speed.py share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tacit.datasets import netflix_like, yahoo_like
from tacit.descent import Descent, State, in_memory
from tacit.descent.chunks import Survey
from tacit.evaluation.split import leave_part_out
from tacit.mechanisms.entropy import NoiseSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings
    from tacit.descent.chunks import Chunks, Order

RATE, DECAY, RIDGE = 0.05, 0.5, 0.07  # of SGD's defaults
CHANCE = 0.65  # variance of a made-up rating around its truth, in squared stars: 0.75^2 + rounding
SHAPES: dict[str, Callable[[float], Ratings]] = {
    "netflix": netflix_like,
    "yahoo": lambda share: yahoo_like(share, item_share=0.1),
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Ratings in the unit of the steps, arranged, and 2% of them apart for the test.

    unit: a quarter of the scale's width, in stars.
    """

    chunks: Chunks
    n_users: int
    n_ratings: int
    unit: float
    test_user: NDArray[np.int64]
    test_row: NDArray[np.int64]
    test_value: NDArray[np.float32]

    @classmethod
    def of(cls, ratings: Ratings, order: Order) -> Prepared:
        unit = (ratings.scale.high - ratings.scale.low) / 4
        train, test = leave_part_out(ratings, 0.02)
        block, asked = (
            part.block.with_values(
                ((part.block.values - ratings.scale.middle) / unit).astype(np.float32)
            )
            for part in (train, test)
        )
        chunks = in_memory([block], Survey.of([block], block.n_items), order)
        return cls(
            chunks=chunks,
            n_users=block.n_users,
            n_ratings=len(block.items),
            unit=unit,
            test_user=asked.user_of_rating(),
            test_row=chunks.numbering.row_of[asked.items],
            test_value=asked.values,
        )

    def state(self, rank: int) -> State:
        return State.first(self.n_users, self.chunks.numbering.rows, rank, seed=0)

    def predicted(self, state: State) -> NDArray[np.float32]:
        """For the test, in the unit of the steps."""
        found = self.chunks.mean + state.user_offsets[self.test_user]
        found += state.item_offsets[self.test_row]
        for start in range(0, len(found), 1 << 14):
            some = slice(start, start + (1 << 14))
            U, V = state.U[self.test_user[some]], state.V[self.test_row[some]]
            found[some] += np.einsum("pk,pk->p", U, V)
        return np.clip(found, -2.0, 2.0)

    def rmse(self, predicted: NDArray[np.float32]) -> float:
        """In stars."""
        return float(np.sqrt(np.mean((predicted - self.test_value) ** 2))) * self.unit


@dataclass(slots=True)
class Watch:
    """Stands where snapshots do: looks at the state after every epoch, with the clock stopped.

    seconds, errors: at each look. averaged: of the mean prediction since `burn_in` epochs.
    """

    data: Prepared
    burn_in: int = 0
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    averaged: list[float] = field(default_factory=list)
    _since: float = field(default_factory=time.perf_counter)
    _total: float = 0.0
    _mean: NDArray[np.float32] | None = None

    def restore(self, state: State) -> int:
        del state
        self._since = time.perf_counter()
        return 0

    def offer(self, state: State, chunks: int) -> None:
        epoch, rest = divmod(chunks, len(self.data.chunks))
        if rest:
            return
        self._total += time.perf_counter() - self._since
        predicted = self.data.predicted(state)
        if epoch > self.burn_in:
            count = epoch - self.burn_in
            before = predicted if self._mean is None else self._mean
            self._mean = before + (predicted - before) / count
        self.seconds.append(self._total)
        self.errors.append(self.data.rmse(predicted))
        self.averaged.append(self.data.rmse(predicted if self._mean is None else self._mean))
        self._since = time.perf_counter()

    def close(self, state: State, chunks: int) -> None:
        """There is nothing to write."""


def descend(
    data: Prepared, rank: int, epochs: int, *, sample: bool, threads: int = 2, rate: float = RATE
) -> Watch:
    """SGD, or SGLD at the temperature of the posterior."""
    watch = Watch(data, burn_in=epochs // 3)
    temperature = CHANCE / data.unit**2 if sample else 0.0
    Descent(epochs, rate, DECAY, RIDGE, temperature).run(
        data.chunks,
        data.state(rank),
        threads=threads,
        source=NoiseSource(),
        snapshots=watch,  # type: ignore[arg-type]
    )
    return watch
