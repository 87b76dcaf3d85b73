# SPDX-License-Identifier: Apache-2.0
"""Options that say how ratings are read: the keywords of `tacit.read`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  (an option)
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tacit.cli.progress import busy
from tacit.data.read import read

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

_PANEL = "Reading"


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=_PANEL, show_default=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """How ratings are read. Names and defaults are those of `tacit.read`."""

    items: Annotated[
        str | None, _option("The public catalogue, a file; else every item counts as public.")
    ] = None
    scale: Annotated[
        tuple[float, float] | None, _option("Lowest and highest rating there can be.")
    ] = None
    implicit: Annotated[bool, _option("Rows are events without ratings.", "--implicit")] = False
    user: Annotated[str | None, _option("Name of the user column.")] = None
    item: Annotated[str | None, _option("Name of the item column.")] = None
    rating: Annotated[str | None, _option("Name of the rating column.")] = None
    timestamp: Annotated[str | None, _option("Name of the time column.")] = None
    privacy: Annotated[
        str | None, _option("Name of the column of users' own privacy, if there is one.")
    ] = None
    privacy_unit: Annotated[
        Literal["level", "epsilon"], _option("What that column holds: levels 0 to 1, or epsilons.")
    ] = "level"
    query: Annotated[str | None, _option("A SELECT statement, where the source is a database.")] = (
        None
    )
    unknown_items: Annotated[
        Literal["refuse", "drop"], _option("Rows of items outside the catalogue.")
    ] = "refuse"
    duplicates: Annotated[
        Literal["refuse", "last"], _option("Rows of one user and item: refuse, or keep the last.")
    ] = "refuse"
    out_of_scale: Annotated[
        Literal["refuse", "clip"], _option("Ratings outside the declared scale.")
    ] = "refuse"

    @property
    def feedback(self) -> Literal["explicit", "implicit"]:
        return "implicit" if self.implicit else "explicit"

    def read(self, source: Any, **changed: Any) -> Ratings:
        """The ratings of this source; raises DataError before anything is spent."""
        keywords: dict[str, Any] = {
            "user": self.user,
            "item": self.item,
            "rating": self.rating,
            "timestamp": self.timestamp,
            "privacy": self.privacy,
            "privacy_unit": self.privacy_unit,
            "query": self.query,
            "items": self.items or "source",
            "unknown_items": self.unknown_items,
            "duplicates": self.duplicates,
            "scale": self.scale,
            "out_of_scale": self.out_of_scale,
            "feedback": self.feedback,
        }
        named = source if isinstance(source, str) else "the rows of the cluster"
        with busy(f"Reading {named}"):
            return read(source, **(keywords | changed))


@dataclass(frozen=True, slots=True)
class ReadingToTrain(Reading):
    """The same for a training, which can leave rows on disk."""

    stream: Annotated[
        Literal["auto", "always", "never"],
        _option("Leave rows on disk: where they would fill a quarter of the memory, or always."),
    ] = "auto"
    keep: Annotated[
        Path | None,
        _option("A new folder for the rows on disk, to be given as SOURCE later; private."),
    ] = None

    @property
    def place(self) -> dict[str, Any]:
        """Keywords of `tacit.read` that say where the rows go."""
        choices: dict[str, Any] = {"auto": "auto", "always": True, "never": False}
        return {"stream": choices[self.stream], "keep": self.keep}
