# SPDX-License-Identifier: Apache-2.0
"""What a model is judged on: for each test user what may be known of her, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.split import first_part, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings

    Ids = NDArray[np.int64] | NDArray[np.object_]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Trial:
    """`history` and `target` have the same users, and the items of the model's catalogue.

    popularity: for each item the number of its training ratings (raw).
    left_out: rows of the test whose item the model does not know.
    without_history: test users of whom nothing is known; they get what a stranger gets.
    personal: whether users could declare a privacy level of their own.
    """

    history: UserBlock
    target: UserBlock
    popularity: NDArray[np.int64]
    scale: tuple[float, float]
    left_out: int = 0
    without_history: int = 0
    personal: bool = False

    def __repr__(self) -> str:
        return f"Trial(items={self.target.n_items}, <private rows>)"


def trial(
    train: Ratings,
    test: Ratings,
    *,
    history: Ratings | None = None,
    split_strangers: bool = False,
) -> Trial:
    """Match the test's users and items to those of the training data, by their ids.

    Args:
        train: what the model is trained on; its catalogue and scale are the model's.
        test: the ratings that are asked for.
        history: what may be known of the test's users; `train` if none is given.
        split_strangers: of a test user without history, 80% of her rows become it, as in the
            protocol for held-out users (`data.split.held_out_users`).
    """
    known = train if history is None else history
    users = positions(test.user_ids, known.user_ids)
    past = _renumbered(rows_of(known.block, users), known, train)[0]
    target = test.block
    if split_strangers:
        first = first_part(target, seed=1, users=np.flatnonzero(np.diff(past.indptr) == 0))
        past = _joined(past, _renumbered(target.keep(first), test, train)[0])
        target = target.keep(~first)
    asked, left_out = _renumbered(target, test, train)
    return Trial(
        history=past,
        target=asked,
        popularity=np.bincount(train.block.items, minlength=train.n_items),
        scale=(train.scale.low, train.scale.high),
        left_out=left_out,
        without_history=int(np.count_nonzero(np.diff(past.indptr) == 0)),
        personal=any(each.personal for each in (train, test, known)),
    )


def positions(wanted: Ids, among: Ids) -> NDArray[np.int64]:
    """For every wanted id its place among the others, or -1; 7 and "7" are the same id."""
    if wanted.dtype == among.dtype == np.int64:
        order = np.argsort(among)
        place = np.minimum(np.searchsorted(among, wanted, sorter=order), len(among) - 1)
        found = order[place]
        return np.where(among[found] == wanted, found, -1)
    where = {str(each): n for n, each in enumerate(among.tolist())}
    return np.array([where.get(str(each), -1) for each in wanted.tolist()], np.int64)


def _renumbered(block: UserBlock, own: Ratings, model: Ratings) -> tuple[UserBlock, int]:
    """The block under the model's item numbers, and how many rows had no such item."""
    if own is model:
        return block, 0
    items = positions(own.catalogue.ids, model.catalogue.ids)[block.items].astype(np.int32)
    known = items >= 0
    kept = replace(block, items=items, n_items=model.n_items).keep(known)
    return _in_order(kept), int(np.count_nonzero(~known))


def _joined(a: UserBlock, b: UserBlock) -> UserBlock:
    """The rows of both, of the same users, of whom each has ratings in one of them only."""
    users = np.concatenate([a.user_of_rating(), b.user_of_rating()])
    order = np.argsort(users, kind="stable")
    items = np.concatenate([a.items, b.items])[order]
    values = np.concatenate([a.values, b.values])[order]
    return UserBlock(a.indptr + b.indptr, items, values, a.n_items, a.levels)


def _in_order(block: UserBlock) -> UserBlock:
    """Each row in the order of the catalogue, as in training."""
    order = np.lexsort((block.items, block.user_of_rating()))
    return replace(block, items=block.items[order], values=block.values[order])
