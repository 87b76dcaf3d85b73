# SPDX-License-Identifier: Apache-2.0
"""An index of the items, for catalogues in which looking at every item takes too long.

A score is offset_j + x . v_j, an inner product of (x, 1, 0) with (v_j, offset_j, rest_j). The last
number is chosen so that all items are equally long; then the largest product belongs to the nearest
item, and an index of nearest neighbours finds it without having to know of products at all.

What all vectors have in common ranks nothing and is taken off. A few items that are far longer than
the rest would make all others look alike, so the longest are left out of the graph and looked at
one by one, whoever asks.

    index.json      version, the model that it is of, checksum of the other file
    index.usearch   a graph over the items, as the library of that name writes it
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.folding import inner_products
from tacit.serving.rank import Ranker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import FoldIn
    from tacit.serving.known import Known
    from tacit.serving.rank import Seen

FORMAT = 2
SPARE = 4
"""The index is asked for so many times as many items as are wanted; the best of them are kept."""

EFFORT = 1024
"""Items that a search looks at closely, at least. More find more of the best, and take longer."""

LONGEST = 0.03
"""Of the items, so many are not in the graph."""

CANDIDATES = 32
"""Items that the making of the graph looks at closely before it joins another to its nearest."""

_JSON, _GRAPH = "index.json", "index.usearch"
_CHUNK = 512


class ItemIndexError(ValueError):
    """The folder holds no index of this model, or a damaged one."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some items for each of some users, as `RatedRows`."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]


class NearestItems:
    """The items of one model, found by how near they are; `ItemModel.recommend` takes it.

    Guarantee:
        Made of a model's released factors and offsets alone, so that it reveals what they reveal.
    """

    def __init__(self, graph: Any, model: str, n_items: int) -> None:
        self.graph = graph
        self.model = model
        self.n_items = n_items
        self._known: tuple[FoldIn, Ranker] | None = None

    def __repr__(self) -> str:
        return f"NearestItems(items={self.n_items})"

    @classmethod
    def of(cls, fold_in: FoldIn) -> NearestItems:
        """Index all items of a model, on all cores."""
        vectors, rest, _ = equally_long(fold_in)
        # Half the bits take half the time: scores are exact whatever the graph holds.
        graph = _library().Index(
            ndim=vectors.shape[1], metric="l2sq", dtype="f16", expansion_add=CANDIDATES
        )
        graph.add(rest.astype(np.uint64), vectors)
        return cls(graph, name_of(fold_in), fold_in.n_items)

    def save(self, folder: str | Path) -> None:
        """Write the index into a new or empty folder, or over another index."""
        folder = Path(folder)
        if folder.exists() and (
            not folder.is_dir() or (any(folder.iterdir()) and not (folder / _JSON).is_file())
        ):
            raise ItemIndexError(f"{folder} holds something other than an index; choose another")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _JSON).unlink(missing_ok=True)
        self.graph.save(str(folder / _GRAPH))
        described = {
            "format": FORMAT,
            "model": self.model,
            "items": self.n_items,
            "sha256": _sha256(folder / _GRAPH),
        }
        (folder / _JSON).write_text(json.dumps(described, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> NearestItems:
        """Open what `save` wrote; raises ItemIndexError on anything else."""
        folder = Path(folder)
        try:
            described = json.loads((folder / _JSON).read_text(encoding="utf-8"))
            whole = (
                described["format"] == FORMAT and _sha256(folder / _GRAPH) == described["sha256"]
            )
            named, n_items = str(described["model"]), int(described["items"])
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise ItemIndexError(f"{folder} holds no whole index; export it again from the model")
        graph = _library().Index.restore(str(folder / _GRAPH))
        return cls(graph, named, n_items)

    def rank(
        self, fold_in: FoldIn, known: Known, n: int, seen: Seen
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """As `rank.rank`, of the items that are found; their scores are exact."""
        longest = self._longest(fold_in)
        n = min(n, self.n_items)
        chunks = range(0, max(known.n_users, 1), _CHUNK)
        found = [
            self._ranked(fold_in, longest, known.rows(at, min(at + _CHUNK, known.n_users)), n, seen)
            for at in chunks
        ]
        chosen, scores = zip(*found, strict=True)
        return np.concatenate(chosen), np.concatenate(scores)

    def _longest(self, fold_in: FoldIn) -> Ranker:
        """The items that are not in the graph; refuses another model than the index was made of."""
        if self._known is None or self._known[0] is not fold_in:
            if name_of(fold_in) != self.model:
                raise ItemIndexError(
                    "this index is of another model; export it again from this one"
                )
            self._known = fold_in, Ranker.of(fold_in, equally_long(fold_in)[2])
        return self._known[1]

    def _ranked(
        self, fold_in: FoldIn, longest: Ranker, known: Known, n: int, seen: Seen
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        X = fold_in.user_factors(known)
        leave_out = known if seen == "leave out" else None
        near = self._found(X, self._wanted(known, n, seen))
        found = np.hstack([near, longest.best(X, n, leave_out)[0]])
        scores = _scores(fold_in, X, found) + fold_in.centring.means(known)[:, None]
        scores[found < 0] = -np.inf
        if leave_out is not None:
            users = np.repeat(np.arange(known.n_users), np.diff(known.indptr))
            pairs = users * np.int64(self.n_items) + known.items
            asked = np.arange(len(found))[:, None] * np.int64(self.n_items) + found
            scores[np.isin(asked, pairs)] = -np.inf
        order = np.lexsort((found, -scores), axis=-1)[:, :n]
        scores = np.take_along_axis(scores, order, axis=1)
        chosen = np.take_along_axis(found, order, axis=1)
        return np.where(np.isneginf(scores), np.int32(-1), chosen), scores

    def _wanted(self, known: Known, n: int, seen: Seen) -> NDArray[np.int64]:
        """For each user how many items to look for, from the length of her own row alone."""
        rated = np.diff(known.indptr) if seen == "leave out" else np.zeros(known.n_users)
        room = np.exp2(np.ceil(np.log2(np.maximum(rated, 1)))) * (rated > 0)
        wanted: NDArray[np.float64] = np.minimum(SPARE * n + room, self.n_items)
        return wanted.astype(np.int64)

    def _found(self, X: NDArray[np.float32], wanted: NDArray[np.int64]) -> NDArray[np.int32]:
        """For each user the positions of about that many nearest items; -1 fills up."""
        found = np.full((len(X), int(wanted.max(initial=1))), -1, np.int32)
        queries = np.zeros((len(X), X.shape[1] + 2), np.float32)
        queries[:, :-2] = X
        queries[:, -2] = 1.0
        for count in np.unique(wanted).tolist():
            users = np.flatnonzero(wanted == count)
            self.graph.expansion_search = max(EFFORT, 2 * count)
            # One query alone would be answered in another form.
            asked = queries[users if len(users) > 1 else np.repeat(users, 2)]
            matches = self.graph.search(asked, count)
            keys = matches.keys.astype(np.int32)
            keys[np.arange(keys.shape[1]) >= np.asarray(matches.counts)[:, None]] = -1
            found[users, : keys.shape[1]] = keys[: len(users)]
        return found


def equally_long(
    fold_in: FoldIn,
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """(v_j, offset_j, rest_j) of the items of the graph; which they are; and which are left out.

    Vectors and offsets come less their means, which rank nothing.
    """
    mean = fold_in.item_factors.mean(axis=0, dtype=np.float64)
    V = fold_in.item_factors - mean.astype(np.float32)
    offsets = np.broadcast_to(np.asarray(fold_in.centring.offsets, np.float64), len(V))
    offsets = (offsets - offsets.mean()).astype(np.float32)
    squares = np.einsum("jk,jk->j", V, V, dtype=np.float64) + offsets.astype(np.float64) ** 2
    order = np.argsort(-squares, kind="stable").astype(np.int32)
    cut = int(LONGEST * len(V))
    longest, rest = np.sort(order[:cut]), np.sort(order[cut:])
    vectors = np.empty((len(rest), V.shape[1] + 2), np.float32)
    vectors[:, :-2] = V[rest]
    vectors[:, -2] = offsets[rest]
    vectors[:, -1] = np.sqrt(squares[rest].max() - squares[rest])
    return vectors, rest, longest


def name_of(fold_in: FoldIn) -> str:
    """A checksum of what the index is made of."""
    digest = hashlib.sha256(fold_in.item_factors.tobytes())
    digest.update(np.asarray(fold_in.centring.offsets, np.float64).tobytes())
    return digest.hexdigest()


def _scores(
    fold_in: FoldIn, X: NDArray[np.float32], found: NDArray[np.int32]
) -> NDArray[np.float64]:
    """What was found for each user, as offset + x . v."""
    items = np.maximum(found, 0).reshape(-1)
    indptr = np.arange(len(found) + 1, dtype=np.int64) * found.shape[1]
    rows = _Rows(indptr, items, np.zeros(0, np.float32))
    offsets = np.broadcast_to(np.asarray(fold_in.centring.offsets, np.float64), fold_in.n_items)
    scores = inner_products(rows, X, fold_in.item_factors) + offsets[items]
    return np.asarray(scores.reshape(found.shape), np.float64)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _library() -> Any:
    try:
        import usearch.index  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ImportError("an index of items needs usearch: pip install 'tacit[ann]'") from None
    return usearch.index
