# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent (Liu, Wang, Smola, 2015, Algorithm 2): fast, and not private."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.accounting.release import Plan
from tacit.descent import Descent, Snapshots, State, in_memory, stored
from tacit.descent.chunks import Order, Survey
from tacit.folding import Centring, FoldIn
from tacit.mechanisms.unprotected import raw_result, unprotected
from tacit.solvers.sgd_start import fold_into
from tacit.solvers.warm_start import WarmStart, check_start, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.data.block import UserBlock
    from tacit.descent.chunks import Chunks
    from tacit.mechanisms.curator import Curator
    from tacit.mechanisms.unprotected import RawRows

RELEASE = "raw ratings.model"
SNAPSHOT_EVERY = 50  # chunks of 8,000 users
_MEAN_RIDGE = 1.0


@dataclass(frozen=True, slots=True)
class SGD:
    """Non-private baseline and start of other non-private trainings: steps rating by rating.

    A rating of user i on item j is mean + b_i + b_j + u_i . v_j. Ratings are taken in units of a
    quarter of the scale's width. With a temperature above 0 it is SGLD: fresh normal noise joins
    the steps, and the result is a sample around the optimum instead of the optimum. Neither bounds
    what one user weighs, so only `epsilon=math.inf` is accepted and the statement says NOT PRIVATE.
    docs/algorithms/sgd.md

    rank: number of factors.
    epochs: passes over all ratings.
    rate: step size of the first epoch; that of epoch t is rate / t^decay.
    ridge: pulls factors and offsets toward 0, once for each rating.
    temperature: variance of a rating by chance, in squared units, for SGLD; 0 for SGD.
    order: "deterministic" gives the same bits for any number of threads; "lock-free" lets threads
        overwrite each other's steps on an item.
    seed: of the first factors.
    start: an earlier model to begin from; each user folds in, so that it predicts what that did.
    stream: a folder into which the arranged ratings are written as Parquet, to be read from there
        in every epoch instead of from memory.
    snapshots: a folder for the state of a training, which has the users' factors in it; a training
        of the same settings on the same ratings goes on from it.
    """

    rank: int = 64
    epochs: int = 20
    rate: float = 0.05
    decay: float = 0.5
    ridge: float = 0.07
    temperature: float = 0.0
    order: Order = "deterministic"
    seed: int = 0
    start: WarmStart | None = None
    stream: str | None = field(default=None, metadata={"of_this_machine": True})
    snapshots: str | None = field(default=None, metadata={"of_this_machine": True})

    def __post_init__(self) -> None:
        for name, least in (("rank", 0), ("epochs", 1), ("seed", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("decay", "ridge", "temperature"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not 0 < self.rate < 1:
            raise ValueError(f"rate must be above 0 and below 1, got {self.rate}")
        check_start(self.start)
        if self.order not in ("deterministic", "lock-free"):
            raise ValueError(f'order must be "deterministic" or "lock-free", got {self.order!r}')

    def plan(self, public: Public) -> Plan:
        if not math.isinf(public.mu):
            raise ValueError(
                "SGD works on raw ratings and bounds nobody's weight, so no noise makes it "
                "private: train it with epsilon=math.inf, or take ALS for a finite epsilon"
            )
        rank_of(self.start, public, self.rank)
        return Plan((unprotected(RELEASE),))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        return raw_result(curator, Training(self, public.low, public.high), RELEASE)


@dataclass(frozen=True, slots=True)
class Training:
    """What is made of raw rows: item factors and offsets."""

    solver: SGD
    low: float
    high: float

    @property
    def middle(self) -> float:
        """Of the scale; the steps count from there."""
        return (self.low + self.high) / 2

    @property
    def unit(self) -> float:
        """Of the steps."""
        return (self.high - self.low) / 4

    def __call__(self, rows: RawRows) -> FoldIn:
        h = self.solver
        survey = Survey.of(self._scaled(rows), rows.n_items)
        chunks: Chunks = (
            in_memory(self._scaled(rows), survey, h.order)
            if h.stream is None
            else stored(Path(h.stream), self._scaled(rows), survey, h.order)
        )
        state = State.first(rows.n_users, chunks.numbering.rows, h.rank, h.seed)
        row = chunks.numbering.row_of
        if h.start:
            fold_into(state, h.start, rows, row, self.unit)
            state.item_offsets[row] -= self.middle / self.unit + survey.mean
        descent = Descent(h.epochs, h.rate, h.decay, h.ridge, h.temperature)
        descent.run(
            chunks,
            state,
            threads=rows.threads,
            source=rows.source,
            snapshots=self._snapshots(rows, survey),
        )
        return self._fold(survey.mean + state.item_offsets[row], state.V[row, : h.rank])

    def rehearsed(self, n_users: int, n_items: int) -> FoldIn:
        del n_users
        return self._fold(np.zeros(n_items), np.zeros((n_items, self.solver.rank), np.float32))

    def _scaled(self, rows: RawRows) -> Iterator[UserBlock]:
        """Ratings in the unit of the steps, from the middle of the scale."""
        for block in rows.blocks():
            yield block.with_values(((block.values - self.middle) / self.unit).astype(np.float32))

    def _fold(self, offsets: NDArray[Any], V: NDArray[np.float32]) -> FoldIn:
        """How a user finds her factors: her part of the objective, with her mean for her offset."""
        return FoldIn(
            np.ascontiguousarray(V),
            Centring((self.middle + self.unit * offsets).astype(np.float64), _MEAN_RIDGE),
            ridge=max(self.solver.ridge, 1e-6),
            ridge_power=1.0,
        )

    def _snapshots(self, rows: RawRows, survey: Survey) -> Snapshots | None:
        h = self.solver
        if h.snapshots is None:
            return None
        made_of = {
            name: getattr(h, name)
            for name in ("rank", "rate", "decay", "ridge", "temperature", "order", "seed")
        }
        if h.start:
            made_of["start"] = h.start.fingerprint
        ratings = [rows.n_users, rows.n_items, int(survey.counts.sum()), survey.mean]
        return Snapshots(Path(h.snapshots), SNAPSHOT_EVERY, {**made_of, "ratings": ratings})
