# SPDX-License-Identifier: Apache-2.0
"""Some whole users' rows: the only shape in which raw data moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class UserBlock:
    """Ratings of whole users in CSR form: user u rated `items[indptr[u]:indptr[u + 1]]`.

    Ids stay behind in the reader: a block cannot name anybody. Its repr shows only public facts,
    because a repr ends up in logs.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    n_items: int

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        return f"UserBlock(n_items={self.n_items}, <private rows>)"

    def rows(self, start: int, stop: int) -> UserBlock:
        """Users start..stop, as views."""
        first, last = self.indptr[start], self.indptr[stop]
        return UserBlock(
            indptr=self.indptr[start : stop + 1] - first,
            items=self.items[first:last],
            values=self.values[first:last],
            n_items=self.n_items,
        )

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
        return UserBlock(before[self.indptr], self.items[mask], self.values[mask], self.n_items)

    def with_values(self, values: NDArray[np.float32]) -> UserBlock:
        """The same rows with other values."""
        return UserBlock(self.indptr, self.items, values, self.n_items)

    def user_of_rating(self) -> NDArray[np.int64]:
        """For every rating the position of its user in this block."""
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))
