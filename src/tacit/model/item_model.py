# SPDX-License-Identifier: Apache-2.0
"""The artefact: what is released, and all that serving ever knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit.accounting.statement import PrivacyStatement
from tacit.folding import Centring, FoldIn
from tacit.model import file
from tacit.serving.rank import KnownRatings, best, scores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ItemId = int | str


class Recommendation(NamedTuple):
    """One recommended item and the rating predicted for it."""

    item: ItemId
    score: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemModel:
    """Item factors and offsets over a public catalogue, with the statement of what they may reveal.

    Guarantee:
        Everything in here is a released quantity or a public input; no user's row can be stored in
        it. `statement` says how private it is.
    """

    item_ids: NDArray[np.int64] | NDArray[np.object_]
    fold_in: FoldIn
    scale: tuple[float, float]
    statement: PrivacyStatement
    titles: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        items, rank = self.item_factors.shape
        return f"ItemModel(items={items}, rank={rank}, epsilon={self.statement.epsilon:.4g})"

    @property
    def item_factors(self) -> NDArray[np.float32]:
        return self.fold_in.item_factors

    @property
    def item_offsets(self) -> NDArray[np.float64]:
        """What an average user gives each item."""
        return np.broadcast_to(self.fold_in.centring.offsets, len(self.item_ids))

    def known(self, ratings: Mapping[ItemId, float]) -> KnownRatings:
        """A user's ratings by position in the catalogue; refuses unknown items and wild ratings."""
        where = {item: position for position, item in enumerate(self.item_ids.tolist())}
        missing = sum(item not in where for item in ratings)
        if missing:
            kind = type(self.item_ids.tolist()[0]).__name__
            raise KeyError(
                f"{missing} of {len(ratings)} items are not in this model's catalogue, "
                f"whose ids are of type {kind}; leave them out"
            )
        values = np.fromiter(ratings.values(), np.float32, len(ratings))
        low, high = self.scale
        if not np.all((values >= low) & (values <= high)):
            raise ValueError(f"ratings must lie on the model's scale, {low:g} to {high:g}")
        return KnownRatings(np.array([where[item] for item in ratings], np.int32), values)

    def recommend(self, ratings: Mapping[ItemId, float], n: int = 10) -> list[Recommendation]:
        """The n items with the highest predicted rating that are not among the rated ones.

        Runs at the user's: it needs her ratings and this model, nothing else.
        """
        known = self.known(ratings)
        predicted = scores(self.fold_in, known)
        ids = self.item_ids.tolist()
        chosen = best(predicted, n, leave_out=known.items)
        return [Recommendation(ids[j], float(predicted[j])) for j in chosen]

    def save(self, folder: str | Path) -> None:
        """Write the model into `folder`: the old content stays until the new one is complete."""
        fold_in = self.fold_in
        description: dict[str, Any] = {
            "item_ids": self.item_ids.tolist(),
            "titles": self.titles,
            "scale": self.scale,
            "mean_ridge": repr(fold_in.centring.mean_ridge),
            "ridge": fold_in.ridge,
            "ridge_power": fold_in.ridge_power,
            "unobserved": fold_in.unobserved,
            "statement": self.statement.to_json(),
        }
        offsets = np.ascontiguousarray(self.item_offsets)
        arrays = {"item_factors": self.item_factors, "item_offsets": offsets}
        file.write(Path(folder), description, arrays)


def load(folder: str | Path) -> ItemModel:
    """Read what `ItemModel.save` wrote; raises ModelFileError on anything else."""
    described, arrays = file.read(Path(folder))
    try:
        model = _model(described, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise file.ModelFileError(
            f"{folder}: the description is incomplete or damaged ({type(error).__name__})"
        ) from None
    if not len(model.item_ids) == len(model.item_factors) == len(arrays["item_offsets"]):
        raise file.ModelFileError(f"{folder}: catalogue and arrays differ in length")
    return model


def _model(described: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ItemModel:
    """The model that a description and its arrays stand for."""
    ids = described["item_ids"]
    low, high = described["scale"]
    titles = described["titles"]
    centring = Centring(arrays["item_offsets"], float(described["mean_ridge"]))
    return ItemModel(
        item_ids=np.array(ids, np.int64 if isinstance(ids[0], int) else np.object_),
        fold_in=FoldIn(
            arrays["item_factors"],
            centring,
            ridge=described["ridge"],
            ridge_power=described["ridge_power"],
            unobserved=described["unobserved"],
        ),
        scale=(float(low), float(high)),
        statement=PrivacyStatement.from_json(described["statement"]),
        titles=None if titles is None else tuple(titles),
    )
