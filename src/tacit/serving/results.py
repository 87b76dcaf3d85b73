# SPDX-License-Identifier: Apache-2.0
"""What serving answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.serving.catalogue import ItemId


class Recommendation(NamedTuple):
    """One item and its score: the predicted rating, or the similarity."""

    item: ItemId
    score: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Recommendations:
    """The recommendations of a batch of users: one list for each user, in the batch's order.

    The arrays lie behind each other without gaps: those of user u are at
    indptr[u]:indptr[u + 1], best first. Where every user got n of them, `scores.reshape(-1, n)`
    and `item_ids.reshape(-1, n)` are tables. Polars and Arrow take the object itself as a table.
    """

    user_ids: NDArray[Any]
    indptr: NDArray[np.int64]
    item_ids: NDArray[Any]
    scores: NDArray[np.float64]
    titles: NDArray[np.object_] | None = None

    def __repr__(self) -> str:
        return f"Recommendations(users={len(self)})"

    def __len__(self) -> int:
        return len(self.user_ids)

    def __iter__(self) -> Iterator[list[Recommendation]]:
        return (self[u] for u in range(len(self)))

    @overload
    def __getitem__(self, user: int) -> list[Recommendation]: ...
    @overload
    def __getitem__(self, user: slice) -> list[list[Recommendation]]: ...
    def __getitem__(self, user: int | slice) -> list[Recommendation] | list[list[Recommendation]]:
        if isinstance(user, slice):
            return [self[one] for one in range(*user.indices(len(self)))]
        u = range(len(self))[user]
        mine = slice(self.indptr[u], self.indptr[u + 1])
        pairs = zip(self.item_ids[mine].tolist(), self.scores[mine].tolist(), strict=True)
        return [Recommendation(item, score) for item, score in pairs]

    def to_arrow(self) -> pa.Table:
        """One row for each recommendation: user, rank (from 1), item, score and title, if any."""
        import pyarrow as pa  # noqa: PLC0415 (lists need no Arrow)

        counts = np.diff(self.indptr)
        rank = np.arange(len(self.item_ids)) - np.repeat(self.indptr[:-1], counts) + 1
        columns = {
            "user": pa.array(self.user_ids).take(pa.array(np.repeat(np.arange(len(self)), counts))),
            "rank": pa.array(rank.astype(np.int32)),
            "item": pa.array(self.item_ids, pa.string() if _is_text(self.item_ids) else pa.int64()),
            "score": pa.array(self.scores),
        }
        if self.titles is not None:
            columns["title"] = pa.array(self.titles, pa.string())
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """The rows of `to_arrow` as a data frame."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's own protocol, by which polars, DuckDB and others read tables."""
        table: Any = self.to_arrow()
        return table.__arrow_c_stream__(requested_schema)


def _is_text(ids: NDArray[Any]) -> bool:
    return ids.dtype == np.object_


class Reason(NamedTuple):
    """What one of a user's ratings adds to a predicted rating."""

    item: ItemId
    rating: float
    adds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A predicted rating, taken apart: score = offset + mean + sum of what `reasons` add.

    offset: what an average user gives this item.
    mean: how much this user's ratings lie above average.
    reasons: her ratings, those that carry the score most first.
    """

    item: ItemId
    score: float
    offset: float
    mean: float
    reasons: tuple[Reason, ...]
