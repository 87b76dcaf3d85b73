# SPDX-License-Identifier: Apache-2.0
"""The artefact: what is released, and all that serving ever knows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit.accounting.statement import PrivacyStatement
from tacit.folding import UserStep
from tacit.model import file
from tacit.serving.rank import best

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
    item_factors: NDArray[np.float32]
    item_offsets: NDArray[np.float32]
    scale: tuple[float, float]
    user_step: UserStep
    statement: PrivacyStatement
    titles: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        items, rank = self.item_factors.shape
        return f"ItemModel(items={items}, rank={rank}, epsilon={self.statement.epsilon:.4g})"

    def positions(self, items: Mapping[ItemId, float]) -> NDArray[np.int32]:
        """Where the named items stand in the catalogue; a KeyError says how many are unknown."""
        where = {item: position for position, item in enumerate(self.item_ids.tolist())}
        missing = [item for item in items if item not in where]
        if missing:
            kinds = sorted({type(item).__name__ for item in missing})
            raise KeyError(
                f"{len(missing)} of {len(items)} items are not in this model's catalogue "
                f"(asked by {', '.join(kinds)}; the catalogue has "
                f"{type(self.item_ids.tolist()[0]).__name__} ids)"
            )
        return np.array([where[item] for item in items], np.int32)

    def predict(self, known: Mapping[ItemId, float]) -> NDArray[np.float32]:
        """The rating predicted for every item of the catalogue, for a user with these ratings.

        Runs at the user's: it needs her ratings and this model, nothing else.
        """
        items = self.positions(known)
        values = np.fromiter(known.values(), np.float32, len(known))
        low, high = self.scale
        if not np.all((values >= low) & (values <= high)):
            raise ValueError(f"known ratings must lie on the model's scale, {low:g} to {high:g}")
        return self.user_step.predict(items, values, self.item_factors, self.item_offsets)

    def recommend(self, known: Mapping[ItemId, float], n: int = 10) -> list[Recommendation]:
        """The n items with the highest predicted rating that are not among the known ones."""
        scores = self.predict(known)
        chosen = best(scores, n, leave_out=self.positions(known).astype(np.int64))
        ids = self.item_ids.tolist()
        return [Recommendation(ids[j], float(scores[j])) for j in chosen]

    def save(self, folder: str | Path) -> None:
        """Write the model into `folder`: the old content stays until the new one is complete."""
        description: dict[str, Any] = {
            "item_ids": self.item_ids.tolist(),
            "titles": self.titles,
            "scale": self.scale,
            "user_step": asdict(self.user_step),
            "statement": self.statement.to_json(),
        }
        arrays = {"item_factors": self.item_factors, "item_offsets": self.item_offsets}
        file.write(Path(folder), description, arrays)


def load(folder: str | Path) -> ItemModel:
    """Read what `ItemModel.save` wrote; raises ModelFileError on anything else."""
    described, arrays = file.read(Path(folder))
    try:
        ids = described["item_ids"]
        low, high = described["scale"]
        titles = described["titles"]
        model = ItemModel(
            item_ids=np.array(ids, np.int64 if isinstance(ids[0], int) else np.object_),
            item_factors=arrays["item_factors"],
            item_offsets=arrays["item_offsets"],
            scale=(float(low), float(high)),
            user_step=UserStep(**described["user_step"]),
            statement=PrivacyStatement.from_json(described["statement"]),
            titles=None if titles is None else tuple(titles),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise file.ModelFileError(
            f"{folder}: the description is incomplete or damaged ({type(error).__name__})"
        ) from None
    if not len(model.item_ids) == len(model.item_factors) == len(model.item_offsets):
        raise file.ModelFileError(f"{folder}: catalogue and arrays differ in length")
    return model
