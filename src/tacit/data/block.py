# SPDX-License-Identifier: Apache-2.0
"""Some whole users' rows: the only shape in which raw data moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.errors import DataError
from tacit.data.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tacit.data.memory import Recollection


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class UserBlock:
    """Ratings of whole users in CSR form: user u rated `items[indptr[u]:indptr[u + 1]]`.

    Ids stay behind in the reader: a block cannot name anybody. Its repr shows only public facts,
    because a repr ends up in logs.

    levels: each user's own privacy level in [0, 1], by which all that she adds is scaled; None if
        nobody asked for less than 1. As private as her ratings.
    first: position of the first user among all users of the engine; None if nobody numbered them.
        A secret sample of the users is drawn by position.
    memo: what these users know from an earlier step (`remembering`); other rows never share it.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    n_items: int
    levels: NDArray[np.float32] | None = None
    first: int | None = None
    memo: Recollection | None = None

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    @property
    def personal(self) -> bool:
        """Whether users could declare a level of their own."""
        return self.levels is not None

    def __repr__(self) -> str:
        return f"UserBlock(n_items={self.n_items}, <private rows>)"

    def check(self) -> None:
        """Refuse a block that breaks what every bound rests on (proofs, "Assumption").

        Guarantee:
            After it, offsets are those of `n_users` rows, every row names items of the catalogue in
            increasing order, hence each once, every value is a finite number, and levels, if there
            are any, are one number in [0, 1] for each user.

        Raises:
            DataError: names the rule, and no value, row or number of ratings.
        """
        for rule, kept in (
            ("indptr must be int64, items int32 and values float32", self._types_hold),
            ("indptr must rise from 0 to the number of items and values", self._offsets_hold),
            ("items must be in 0..n_items - 1", self._items_hold),
            ("each user's items must be in increasing order, each once", self._rows_rise),
            ("values must be finite numbers", self._values_hold),
            ("levels must be one float32 in [0, 1] for each user", self._levels_hold),
        ):
            if not kept():
                raise DataError(f"these ratings cannot be summed: {rule}; let tacit.read make them")

    def rows(self, start: int, stop: int) -> UserBlock:
        """Users start..stop, as views."""
        first, last = self.indptr[start], self.indptr[stop]
        return UserBlock(
            indptr=self.indptr[start : stop + 1] - first,
            items=self.items[first:last],
            values=self.values[first:last],
            n_items=self.n_items,
            levels=None if self.levels is None else self.levels[start:stop],
            first=None if self.first is None else self.first + start,
            memo=self.memo and self.memo.part(slice(start, stop), slice(int(first), int(last))),
        )

    def remembering(self) -> UserBlock:
        """The same rows with an empty memory, which all its views share."""
        memory = Memory(self.n_users, len(self.items))
        return replace(self, memo=memory.everyone())

    def split(self, ratings_per_block: int) -> Iterator[UserBlock]:
        """Blocks of whole users with about that many ratings each; one heavy user is one block."""
        start = 0
        while start < self.n_users:
            wanted = self.indptr[start] + ratings_per_block
            stop = int(np.searchsorted(self.indptr, wanted, side="right")) - 1
            stop = min(max(stop, start + 1), self.n_users)
            yield self.rows(start, stop)
            start = stop

    def keep(self, mask: NDArray[np.bool_]) -> UserBlock:
        """The ratings where the mask is true; every user stays, perhaps with an empty row."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)])
        return replace(
            self,
            indptr=before[self.indptr],
            items=self.items[mask],
            values=self.values[mask],
            memo=None,
        )

    def with_values(self, values: NDArray[np.float32]) -> UserBlock:
        """The same rows with other values."""
        return replace(self, values=values, memo=None)

    def _types_hold(self) -> bool:
        wanted = ((self.indptr, np.int64), (self.items, np.int32), (self.values, np.float32))
        return all(array.dtype == kind and array.ndim == 1 for array, kind in wanted)

    def _offsets_hold(self) -> bool:
        ends = self.indptr[[0, -1]].tolist() if len(self.indptr) else []
        sizes = {len(self.items), len(self.values)}
        return ends == [0, *sizes] and bool((np.diff(self.indptr) >= 0).all())

    def _items_hold(self) -> bool:
        low, high = self.items.min(initial=0), self.items.max(initial=-1)
        return int(low) >= 0 and int(high) < self.n_items

    def _rows_rise(self) -> bool:
        """Strictly, within each row."""
        rises = self.items[1:] > self.items[:-1]
        first = self.indptr[1:-1]
        rises[first[(first > 0) & (first < len(self.items))] - 1] = True
        return bool(rises.all())

    def _values_hold(self) -> bool:
        return bool(np.isfinite(self.values).all())

    def _levels_hold(self) -> bool:
        w = self.levels
        if w is None:
            return True
        fits = w.dtype == np.float32 and w.shape == (self.n_users,)
        return fits and bool(((w >= 0) & (w <= 1)).all())

    def user_of_rating(self) -> NDArray[np.int64]:
        """For every rating the position of its user in this block."""
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))
