# SPDX-License-Identifier: Apache-2.0
"""The public list of items, and the public rating scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Catalogue:
    """Item ids (all strings or all integers), in the order of the item factors.

    `origin` tells the privacy statement how the list came to be public: "file" (given apart from
    the ratings) or "source" (the user declares that every item of the ratings is public knowledge).
    """

    ids: NDArray[np.int64] | NDArray[np.object_]
    origin: Literal["file", "source"]
    titles: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} items, origin={self.origin!r})"


@dataclass(frozen=True, slots=True)
class Scale:
    """The public range of a rating.

    `origin` is "declared" when the user gave it, "recognised" when the source fitted one of the
    usual scales, which the privacy statement then names as an assumption.

    feedback: what the reader was told a rating is.
    """

    low: float
    high: float
    origin: Literal["declared", "recognised"] = "declared"
    feedback: Literal["explicit", "implicit"] = "explicit"

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2
