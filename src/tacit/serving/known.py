# SPDX-License-Identifier: Apache-2.0
"""What is known of some users: their ratings by position in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.serving.catalogue import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.serving.catalogue import ItemIndex, UnknownItems


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Known:
    """Ratings of users in CSR form.

    Each row is in the order of the catalogue, as in training: the last bits of a sum depend on it.

    user_ids: None where this is one user's history and not a batch.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    user_ids: NDArray[Any] | None = None

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    def rows(self, start: int, stop: int) -> Known:
        """Users start..stop, as views."""
        first, last = self.indptr[start], self.indptr[stop]
        return Known(
            self.indptr[start : stop + 1] - first, self.items[first:last], self.values[first:last]
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """What a history must keep to: the model's catalogue and scale.

    events: the model counts what users did, so that an item alone will do, on any scale.
    """

    index: ItemIndex
    scale: tuple[float, float]
    unknown_items: UnknownItems = "refuse"
    events: bool = False

    def __post_init__(self) -> None:
        if self.unknown_items not in ("refuse", "drop"):
            raise ValueError("unknown_items must be 'refuse' or 'drop'")

    @property
    def implicit(self) -> bool:
        """An item without a rating counts 1."""
        return self.events or tuple(self.scale) == (0.0, 1.0)

    @property
    def alone(self) -> float:
        """What an item without a rating counts: 1, or what on the scale is nearest."""
        return min(max(1.0, self.scale[0]), self.scale[1])

    def known(
        self,
        users: NDArray[np.int64],
        items: NDArray[np.int32],
        values: NDArray[np.float32],
        user_ids: NDArray[Any] | None,
    ) -> Known:
        """Rows in any order, checked and put in order; `users` are positions in `user_ids`."""
        if self.unknown_items == "drop" and np.any(items == UNKNOWN):
            kept = items != UNKNOWN
            users, items, values = users[kept], items[kept], values[kept]
        elif np.any(items == UNKNOWN):
            raise KeyError(
                f"some rated items are not in this model's catalogue of {len(self.index)} items, "
                f"whose ids are {self.index.kind}; leave them out: unknown_items='drop'"
            )
        self._check_scale(values)
        pairs = users * len(self.index) + items
        if not np.all(pairs[1:] > pairs[:-1]):
            order = _order_without_repeats(pairs, values)
            users, items, values = users[order], items[order], values[order]
        n_users = 1 if user_ids is None else len(user_ids)
        counts = np.bincount(users, minlength=n_users)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        return Known(indptr, items, values, user_ids)

    def _check_scale(self, values: NDArray[np.float32]) -> None:
        """Compares in 32 bits, as the reader of training does."""
        low, high = (np.float32(end) for end in self.scale)
        if not np.all((values >= low) & (values <= high)):
            advice = "; without a rating column every row counts 1" if self.implicit else ""
            raise ValueError(
                f"ratings must lie on the model's scale, {self.scale[0]:g} to {self.scale[1]:g}"
                f"{advice}"
            )


def _order_without_repeats(
    pairs: NDArray[np.int64], values: NDArray[np.float32]
) -> NDArray[np.int64]:
    """The order of pairs of user and item; of a pair that is there twice one stays."""
    order = np.argsort(pairs, kind="stable")
    again = pairs[order][1:] == pairs[order][:-1]
    if np.any(again & (values[order][1:] != values[order][:-1])):
        raise ValueError("an item is rated twice by one user, differently; keep one of the ratings")
    first: NDArray[np.bool_] = np.concatenate([np.ones(1, np.bool_), ~again])
    return order[first].astype(np.int64)
