# SPDX-License-Identifier: Apache-2.0
"""The two splits that published figures refer to: by rating, and held-out users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings


def by_rating(
    table: pa.Table, fractions: Sequence[float] = (0.8, 0.1, 0.1), *, seed: int = 0
) -> tuple[pa.Table, ...]:
    """Split the rows of a table, each by its own coin, before they are read.

    A row goes to the part in whose share of [0, 1) its number of `default_rng(seed).random` falls,
    in the order of the table. Read each part with the same `items=`, so that items have the same
    numbers in all parts; `same_users` does that for users.
    """
    if len(fractions) < 2 or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError("fractions must be two or more positive numbers that add up to 1")
    coins = np.random.default_rng(seed).random(table.num_rows)
    part = np.searchsorted(np.cumsum(fractions)[:-1], coins, side="right")
    return tuple(table.filter(part == n) for n in range(len(fractions)))


def same_users(part: Ratings, whole: Ratings) -> Ratings:
    """The rows of `part` under the user numbers of `whole`; users without rows get an empty one."""
    if list(part.catalogue.ids) != list(whole.catalogue.ids):
        raise ValueError("the two have different catalogues: read both with the same items=")
    found: dict[object, int] = {user: n for n, user in enumerate(part.user_ids.tolist())}
    rows = np.array([found.pop(user, -1) for user in whole.user_ids.tolist()])
    if found:
        raise ValueError("some users of the part are not among the users of the whole")
    block = replace(rows_of(part.block, rows), levels=whole.block.levels)
    return replace(whole, rows=block)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldOutUsers:
    """`train` has none of the held-out users; `history` and `target` have the same ones."""

    train: Ratings
    history: Ratings
    target: Ratings


def held_out_users(
    ratings: Ratings, users: int = 1000, *, history: float = 0.8, seed: int = 0
) -> HeldOutUsers:
    """Leave out whole users, and of each of them some items to be recommended.

    The users are the first of `default_rng(seed).permutation(n_users)`. Of each, in increasing
    order, the first `int(history * n)` of a `default_rng(seed + 1)` permutation of the n items are
    the history and the rest is the target.
    """
    if not 0 < users < ratings.n_users or not 0 < history < 1:
        raise ValueError("users must be fewer than there are, and history between 0 and 1")
    chosen = np.sort(np.random.default_rng(seed).permutation(ratings.n_users)[:users])
    block = rows_of(ratings.block, chosen)
    known = first_part(block, history, seed=seed + 1)
    others = np.setdiff1d(np.arange(ratings.n_users), chosen)

    def part(users: NDArray[np.int64], rows: UserBlock) -> Ratings:
        own = ratings.own_epsilons
        return replace(
            ratings,
            rows=rows,
            ids=ratings.user_ids[users],
            own_epsilons=None if own is None else own[users],
        )

    return HeldOutUsers(
        train=part(others, rows_of(ratings.block, others)),
        history=part(chosen, block.keep(known)),
        target=part(chosen, block.keep(~known)),
    )


def first_part(
    block: UserBlock,
    fraction: float = 0.8,
    *,
    seed: int,
    users: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Marks the first `int(fraction * n)` of a permutation of each user's n ratings.

    users: in increasing order, those of whom any are marked; all if none are given.
    """
    rng = np.random.default_rng(seed)
    marked = np.zeros(len(block.items), bool)
    for user in range(block.n_users) if users is None else users:
        start, stop = block.indptr[user], block.indptr[user + 1]
        order = rng.permutation(stop - start)
        marked[start + order[: int(fraction * (stop - start))]] = True
    return marked


def rows_of(block: UserBlock, users: NDArray[np.int64]) -> UserBlock:
    """The rows of these users in this order; -1 is a user without ratings."""
    counts = np.where(users < 0, 0, np.diff(block.indptr)[users])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    shift = np.repeat(block.indptr[users] - indptr[:-1], counts)
    source = np.arange(indptr[-1]) + shift
    levels = None if block.levels is None else np.where(users < 0, 1, block.levels[users])
    return UserBlock(
        indptr,
        block.items[source],
        block.values[source],
        block.n_items,
        None if levels is None else levels.astype(np.float32),
    )
