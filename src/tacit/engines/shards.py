# SPDX-License-Identifier: Apache-2.0
"""Sums in shards, so that no task has to hold all of them.

A shard is a range of the items, with their numbers in every part by item; the other parts together
are a shard too. A task adds up one shard at a time. It travels in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.contributions.by_item import Unadded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tacit.contributions.base import Contribution, Part, Sums
    from tacit.data.block import UserBlock

    Numbered = tuple[int, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a task holds.

    shard: numbers that are added up at a time.
    piece: numbers that are sent at once.
    held: bytes of shares (`by_item`) that are kept until every shard has been made of them.
    """

    shard: int = 1 << 23
    piece: int = 1 << 20
    held: int = 1 << 30


class Place(NamedTuple):
    """Where a piece lies: numbers start..stop of this part, seen as one row."""

    part: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Shard:
    """items: whose numbers these are, in parts by item; None for whole parts.

    first: the number of its first piece.
    """

    items: range | None
    first: int
    places: Sequence[Place]

    def pieces(self, sums: Sums) -> Iterator[Numbered]:
        """The pieces of its sums, as views."""
        for number, (part, start, stop) in enumerate(self.places, self.first):
            before = 0 if self.items is None else self.items.start * sums[part].shape[1]
            yield number, sums[part].reshape(-1)[start - before : stop - before]


def shards_of(parts: Sequence[Part], sizes: Sizes) -> list[Shard]:
    """How these sums are divided; the same on every machine.

    All of them are one shard if they are no larger than one, or if they cannot be divided.
    """
    divided = [part for part in parts if part.by_item]
    if not divided or sum(part.size for part in parts) <= sizes.shard:
        return [Shard(None, 0, _cut(parts, None, sizes.piece))]
    shards: list[Shard] = []
    number, n_items = 0, divided[0].shape[0]
    width = sum(part.shape[1] for part in divided)
    each = max(sizes.shard // width, 1)
    for start in range(0, n_items, each):
        items = range(start, min(start + each, n_items))
        shards.append(Shard(items, number, _cut(divided, items, sizes.piece)))
        number += len(shards[-1].places)
    others = [part for part in parts if not part.by_item]
    return [*shards, Shard(None, number, _cut(others, None, sizes.piece))]


def _cut(parts: Sequence[Part], items: range | None, size: int) -> list[Place]:
    """What these parts hold for these items, or at all, in pieces."""
    places = []
    for part in parts:
        start, stop = 0, part.size
        if items is not None:
            start, stop = items.start * part.shape[1], items.stop * part.shape[1]
        places += [Place(part.name, at, min(at + size, stop)) for at in range(start, stop, size)]
    return places


def added_up(
    contribution: Contribution, blocks: Iterable[UserBlock], sizes: Sizes
) -> Iterator[Numbered]:
    """The contribution summed over the blocks, in numbered pieces; none where there is no block.

    A piece may come more than once, each time with the sum over some of the blocks.
    """
    parts = contribution.parts
    shards = shards_of(parts, sizes)
    if len(shards) > 1:
        for kept in _kept(contribution, blocks, sizes.held):
            for shard in shards:
                yield from shard.pieces(_sums(kept, parts, shard.items))
        return
    sums: Sums | None = None
    for block in blocks:
        sums = contribution.zeros() if sums is None else sums
        contribution.add(block, sums)
    if sums is not None:
        yield from shards[0].pieces(sums)


def _kept(contribution: Contribution, blocks: Iterable[UserBlock], most: int) -> Iterator[Unadded]:
    """Shares of as many blocks at a time as may be held; their users work them out once."""
    kept: Unadded | None = None
    for block in blocks:
        if kept is None:
            parts = (part for part in contribution.parts if not part.by_item)
            kept = Unadded({part.name: np.zeros(part.shape, np.int64) for part in parts})
        contribution.add(block, kept)
        if kept.nbytes >= most:
            yield kept
            kept = None
    if kept is not None:
        yield kept


def _sums(kept: Unadded, parts: Sequence[Part], items: range | None) -> Sums:
    """What the shares come to for these items; the parts that are added up already for None."""
    if items is None:
        return kept
    sums = {
        part.name: np.zeros((len(items), part.shape[1]), np.int64) for part in parts if part.by_item
    }
    for shares in kept.shares:
        shares.within(items.start, items.stop).add_up(sums)
    return sums
