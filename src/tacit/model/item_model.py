# SPDX-License-Identifier: Apache-2.0
"""The artefact: what is released, and all that serving ever knows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tacit.model import file
from tacit.model.description import describe, fields_of
from tacit.model.made_by import MadeBy
from tacit.serving import explain, rank
from tacit.serving.catalogue import ItemIndex
from tacit.serving.histories import positions_of, read
from tacit.serving.known import Rules
from tacit.serving.nearest import NearestItems
from tacit.serving.rank import Ranker
from tacit.serving.results import Explanation, Reason, Recommendation, Recommendations
from tacit.user_steps import SeenProjection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from tacit.accounting.statement import PrivacyStatement
    from tacit.folding import FoldIn
    from tacit.serving.catalogue import ItemId, UnknownItems
    from tacit.serving.known import Known


@dataclass(frozen=True, repr=False, eq=False)
class ItemModel:
    """Item factors and offsets over a public catalogue, with the statement of what they may reveal.

    Every method that takes `known` takes what is known of one user or of many:
        one user: a dict {item: rating}; a set or list of items where feedback is implicit; a table
            with the columns item and rating; a SciPy sparse array of one axis.
        a batch: a list of such dicts or sets; a table with a user column as well; a SciPy matrix
            with a row for each user and a column for each item; the path of a Parquet file.
        Tables are those of Arrow, pandas and polars; their columns may have the usual names.
    Items that are not in the catalogue are refused (KeyError) unless unknown_items="drop". Ratings
    outside the scale are refused (ValueError). Nobody's answer depends on the rest of her batch.

    Guarantee:
        Everything in here is a released quantity or a public input; no user's row can be stored in
        it. `statement` says how private it is.
    """

    item_ids: NDArray[np.int64] | NDArray[np.object_]
    folding: FoldIn
    scale: tuple[float, float]
    statement: PrivacyStatement
    titles: tuple[str, ...] | None = None
    made_by: MadeBy = field(default_factory=MadeBy)

    def __post_init__(self) -> None:
        n_items = len(self.item_ids)
        offsets = self.folding.centring.offsets
        if n_items == 0:
            raise ValueError("a model needs at least one item")
        if n_items != self.folding.n_items or np.shape(offsets) not in ((), (n_items,)):
            raise ValueError("catalogue, item factors and item offsets differ in length")
        if self.titles is not None and len(self.titles) != n_items:
            raise ValueError("there must be one title for each item, or none at all")
        low, high = self.scale
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("scale must be two finite numbers (low, high) with low < high")
        _ = self._index  # refuses ids that are there twice

    def __repr__(self) -> str:
        items, rank = self.item_factors.shape
        return f"ItemModel(items={items}, rank={rank}, epsilon={self.statement.epsilon:.4g})"

    @property
    def item_factors(self) -> NDArray[np.float32]:
        return self.folding.item_factors

    @property
    def item_offsets(self) -> NDArray[np.float64]:
        """What an average user gives each item."""
        return np.broadcast_to(self.folding.centring.offsets, len(self.item_ids))

    @property
    def feedback(self) -> Literal["explicit", "implicit"]:
        """Implicit on the scale 0 to 1, or as trained: an item without a rating then counts 1."""
        return "implicit" if self._rules("refuse").implicit else "explicit"

    def title(self, item: ItemId) -> str:
        """The item's title, or its id where the model has no titles."""
        position = self._position(item)
        return str(item) if self.titles is None else self.titles[position]

    def fold_in(self, known: Any, *, unknown_items: UnknownItems = "refuse") -> rank.Folded:
        """User factors and means; of one user her row of factors and her mean.

        Guarantee:
            Bit by bit what training computes from the same ratings on the same machine.
        """
        rows = self._read(known, unknown_items)
        folded = rank.fold(self.folding, rows)
        if rows.user_ids is None:
            return rank.Folded(folded.factors[0], folded.means[0])
        return folded

    @overload
    def recommend(
        self,
        known: Mapping[Any, float] | AbstractSet[Any],
        n: int = ...,
        *,
        seen: rank.Seen = ...,
        candidates: Iterable[ItemId] | NearestItems | None = ...,
        unknown_items: UnknownItems = ...,
    ) -> list[Recommendation]: ...
    @overload
    def recommend(
        self,
        known: Any,
        n: int = ...,
        *,
        seen: rank.Seen = ...,
        candidates: Iterable[ItemId] | NearestItems | None = ...,
        unknown_items: UnknownItems = ...,
    ) -> list[Recommendation] | Recommendations: ...
    def recommend(
        self,
        known: Any,
        n: int = 10,
        *,
        seen: rank.Seen = "leave out",
        candidates: Iterable[ItemId] | NearestItems | None = None,
        unknown_items: UnknownItems = "refuse",
    ) -> list[Recommendation] | Recommendations:
        """The n items with the highest predicted rating, best first; equal ones in catalogue order.

        Runs at the user's: it needs her ratings and this model, nothing else. Without a rating she
        gets the best items of all.

        Args:
            known: what is known of one user (answered by a list) or of a batch.
            n: how many items; fewer come where fewer are left.
            seen: whether items that she rated are left out.
            candidates: only these items may be recommended; all if none are given. Or an index of
                the items (`export_index`): only what it finds, nearly always the best.
            unknown_items: refuse rated items outside the catalogue, or drop these ratings.

        Example:
            >>> import math, pyarrow, tacit
            >>> rows = {"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"], "rating": [5, 3, 4, 1]}
            >>> ratings = tacit.read(pyarrow.table(rows))
            >>> model = tacit.fit(ratings, tacit.ItemOffsets(), epsilon=math.inf).model
            >>> [item for item, _ in model.recommend({"a": 5.0})]
            ['b', 'c']
        """
        _check_choice(n, seen)
        rows = self._read(known, unknown_items)
        if isinstance(candidates, NearestItems):
            chosen, scores = candidates.rank(self.folding, rows, n, seen)
        elif candidates is None:
            chosen, scores = rank.rank(self.folding, self._ranker, rows, n, seen)
        else:
            only = positions_of(candidates, self._rules("refuse"), "candidates")
            chosen, scores = rank.rank(self.folding, Ranker.of(self.folding, only), rows, n, seen)
        if rows.user_ids is None:
            pairs = zip(chosen[0].tolist(), scores[0].tolist(), strict=True)
            return [Recommendation(self._index.id_of(j), score) for j, score in pairs if j >= 0]
        return self.named(rows.user_ids, chosen, scores)

    def named(
        self, user_ids: NDArray[Any], chosen: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> Recommendations:
        """Positions in the catalogue, users x n and -1 for none, as recommendations."""
        there = chosen >= 0
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(there.sum(axis=1))])
        titles = None if self._titles is None else self._titles[chosen[there]]
        return Recommendations(
            user_ids, indptr, self.item_ids[chosen[there]], scores[there], titles
        )

    def predict(
        self, known: Any, items: Iterable[ItemId], *, unknown_items: UnknownItems = "refuse"
    ) -> NDArray[np.float64]:
        """The ratings that she would give to these items; of a batch a row for each user.

        Not cut to the scale, so that items keep their order.
        """
        rows = self._read(known, unknown_items)
        asked = positions_of(items, self._rules("refuse"), "the items asked for")
        indptr = np.arange(rows.n_users + 1, dtype=np.int64) * len(asked)
        values = np.zeros(rows.n_users * len(asked), np.float32)
        pairs = type(rows)(indptr, np.tile(asked, rows.n_users), values)
        predicted = self.folding.predict(rows, pairs).reshape(rows.n_users, len(asked))
        return predicted[0] if rows.user_ids is None else predicted

    def similar_items(self, item: ItemId, n: int = 10) -> list[Recommendation]:
        """The n items most like this one; the score is the cosine of their factors."""
        _check_choice(n, "keep")
        position = self._position(item)
        cosines = explain.similarities(self.folding, position)
        cosines[position] = -np.inf
        chosen = explain.highest(cosines, n)
        return [Recommendation(self._index.id_of(j), float(cosines[j])) for j in chosen]

    def explain(
        self, known: Any, item: ItemId, *, unknown_items: UnknownItems = "refuse"
    ) -> Explanation:
        """Which of one user's ratings carry her predicted rating of an item, and by how much."""
        rows = self._read(known, unknown_items)
        if rows.user_ids is not None:
            raise ValueError("explain takes what is known of one user, not a batch")
        position = self._position(item)
        shares = explain.shares(self.folding, rows, position)
        mean = float(self.folding.centring.means(rows)[0])
        offset = float(self.item_offsets[position])
        reasons = tuple(
            Reason(self._index.id_of(rows.items[j]), float(rows.values[j]), float(shares[j]))
            for j in np.argsort(-np.abs(shares), kind="stable")
        )
        return Explanation(item, offset + mean + float(shares.sum()), offset, mean, reasons)

    def save(self, folder: str | Path) -> None:
        """Write the model into `folder`: the old content stays until the new one is complete."""
        file.write(Path(folder), *describe(self))

    def export_index(self, folder: str | Path) -> NearestItems:
        """Write an index of the items, for large catalogues, to be given to `recommend`.

        It finds the best items of a user without looking at all (`NearestItems.load` opens it).
        """
        made = NearestItems.of(self.folding)
        made.save(folder)
        return made

    @cached_property
    def _index(self) -> ItemIndex:
        return ItemIndex(self.item_ids)

    @cached_property
    def _ranker(self) -> Ranker:
        """The whole catalogue, packed when it is first ranked."""
        return Ranker.of(self.folding)

    @cached_property
    def _titles(self) -> NDArray[np.object_] | None:
        return None if self.titles is None else np.array(self.titles, np.object_)

    def _rules(self, unknown_items: UnknownItems) -> Rules:
        events = isinstance(self.folding.step, SeenProjection)
        return Rules(self._index, self.scale, unknown_items, events)

    def _read(self, known: Any, unknown_items: UnknownItems) -> Known:
        return read(known, self._rules(unknown_items))

    def _position(self, item: ItemId) -> int:
        return int(positions_of([item], self._rules("refuse"), "the items asked for")[0])


def _check_choice(n: Any, seen: str) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
    if seen not in ("leave out", "keep"):
        raise ValueError(f"seen must be 'leave out' or 'keep', got {seen!r}")


def load(folder: str | Path) -> ItemModel:
    """Read what `ItemModel.save` wrote; raises ModelFileError on anything else."""
    described, arrays = file.read(Path(folder))
    try:
        return ItemModel(**fields_of(described, arrays))
    except file.ModelFileError as error:
        raise file.ModelFileError(f"{folder}: {error}") from None
    except Exception as error:  # noqa: BLE001 (a foreign file may break any constructor)
        kind = type(error).__name__
    raise file.ModelFileError(f"{folder}: the description is incomplete or damaged ({kind})")
