# SPDX-License-Identifier: Apache-2.0
"""Ratings in the order in which descent takes them: chunks of users, tasks, visits.

A chunk is 8 groups of about 1,000 users. Items are numbered by popularity and dealt out to 8 groups
in turn, so that every group has its share of the popular ones. A task is one user group on one item
group: of 8 tasks in a round no two share a user or an item, whence their threads never meet. The
rows of one item group are also what stays in the cache meanwhile. Without locks an item belongs to
nobody: a task is a user group on all items, which come in tiers of popularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from tacit.data.block import UserBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

GROUPS = 8
USERS_PER_CHUNK = 8_000
# The paper's tiers: the most popular items, the next ones, the rest.
TIERS = (500, 4_500)

Order = Literal["deterministic", "lock-free"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Survey:
    """What is known of all ratings after one pass: how often each item was rated, and the mean."""

    counts: NDArray[np.int64]
    mean: float

    @classmethod
    def of(cls, blocks: Iterable[UserBlock], n_items: int) -> Survey:
        counts, total = np.zeros(n_items, np.int64), 0.0
        for block in blocks:
            counts += np.bincount(block.items, minlength=n_items)
            total += float(block.values.sum(dtype=np.float64))
        return cls(counts, total / max(int(counts.sum()), 1))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Numbering:
    """Which row an item's factors have: group after group, in each the most popular first."""

    row_of: NDArray[np.int64]
    rows_per_group: int
    order: Order

    @classmethod
    def of(cls, counts: NDArray[np.int64], order: Order) -> Numbering:
        rank = np.empty(len(counts), np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        groups = GROUPS if order == "deterministic" else 1
        rows_per_group = -(-len(counts) // groups)
        return cls(rank % groups * rows_per_group + rank // groups, rows_per_group, order)

    @property
    def groups(self) -> int:
        """Of items that threads own in turn; 0 where they share all."""
        return GROUPS if self.order == "deterministic" else 0

    @property
    def rows(self) -> int:
        return self.rows_per_group * max(self.groups, 1)

    def place(
        self, rows: NDArray[np.int64], users: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int]:
        """A number for each rating of items `rows` and user groups `users`, rising with its turn.

        Returns also how many such places a task has.
        """
        if self.groups:
            turn = (rows // self.rows_per_group - users) % self.groups
            return turn * self.groups + users, 1
        tiers = len(TIERS) + 1
        return users * tiers + np.searchsorted(TIERS, rows, side="right"), tiers


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunk:
    """The ratings of users first..stop, as `kernels.sgd_tasks` takes them."""

    first: int
    stop: int
    task_visits: NDArray[np.int64]
    visit_ratings: NDArray[np.int64]
    visit_user: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float32]


class Chunks(Protocol):
    """All chunks, again and again."""

    @property
    def numbering(self) -> Numbering: ...
    @property
    def mean(self) -> float: ...
    def __len__(self) -> int: ...

    def stream(self, start: int, stop: int) -> Iterator[Chunk]:
        """Chunks start..stop of an endless row in which all of them come in turn."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ChunksInMemory:
    """Chunks that are all there."""

    chunks: tuple[Chunk, ...]
    numbering: Numbering
    mean: float

    def __len__(self) -> int:
        return len(self.chunks)

    def stream(self, start: int, stop: int) -> Iterator[Chunk]:
        return (self.chunks[at % len(self.chunks)] for at in range(start, stop))


def in_memory(blocks: Iterable[UserBlock], survey: Survey, order: Order) -> ChunksInMemory:
    """All users' ratings, arranged."""
    numbering = Numbering.of(survey.counts, order)
    return ChunksInMemory(tuple(arranged(blocks, numbering)), numbering, survey.mean)


def arranged(blocks: Iterable[UserBlock], numbering: Numbering) -> Iterator[Chunk]:
    """Blocks of any size, as chunks of so many users each."""
    first = 0
    for block in _regrouped(blocks, USERS_PER_CHUNK):
        yield _chunk(block, first, numbering)
        first += block.n_users


def _chunk(block: UserBlock, first: int, numbering: Numbering) -> Chunk:
    """Ratings by task, tier and user; a visit wherever one of them changes."""
    ends = np.arange(1, GROUPS) * block.indptr[-1] // GROUPS
    user = block.user_of_rating()
    group = np.searchsorted(np.searchsorted(block.indptr, ends), user, side="right")
    rows = numbering.row_of[block.items]
    place, places = numbering.place(rows, group)
    key = place * block.n_users + user
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    tasks = GROUPS * max(numbering.groups, 1)
    task_of_visit = key[starts] // (places * block.n_users)
    return Chunk(
        first=first,
        stop=first + block.n_users,
        task_visits=np.searchsorted(task_of_visit, np.arange(tasks + 1)).astype(np.int64),
        visit_ratings=np.append(starts, len(key)).astype(np.int64),
        visit_user=(first + user[order][starts]).astype(np.int32),
        items=rows[order].astype(np.int32),
        values=block.values[order],
    )


def _regrouped(blocks: Iterable[UserBlock], users: int) -> Iterator[UserBlock]:
    """The same users in blocks of exactly so many, the last one perhaps of fewer."""
    waiting: list[UserBlock] = []
    for block in blocks:
        start = 0
        while start < block.n_users:
            wanted = users - sum(part.n_users for part in waiting)
            part = block.rows(start, min(start + wanted, block.n_users))
            start += part.n_users
            waiting.append(part)
            if part.n_users == wanted:
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[UserBlock]) -> UserBlock:
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return UserBlock(
        indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        items=np.concatenate([part.items for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        n_items=parts[0].n_items,
    )
