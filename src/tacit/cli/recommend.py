# SPDX-License-Identifier: Apache-2.0
"""`tacit recommend`: items for one user, or for many from a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

import tacit
from tacit.cli import interrupts
from tacit.cli.cluster import Cluster  # noqa: TC001  (options)
from tacit.cli.progress import busy
from tacit.cli.verb import AsJson, say, say_json, verb
from tacit.serving.recommend_file import recommend_file
from tacit.serving.recommend_frame import recommend_frame, save_lists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tacit.model.item_model import ItemModel


@dataclass(frozen=True, slots=True)
class Choice:
    """What is recommended."""

    n: Annotated[int, typer.Option("-n", min=1, help="How many items.")] = 10
    seen: Annotated[
        Literal["leave-out", "keep"], typer.Option(help="Items that the user has rated.")
    ] = "leave-out"
    candidates: Annotated[
        str | None,
        typer.Option(help="The only items to choose from: 'id,id2'.", show_default=False),
    ] = None
    unknown_items: Annotated[
        Literal["refuse", "drop"], typer.Option(help="Ratings of items outside the model.")
    ] = "refuse"
    index: Annotated[
        Path | None,
        typer.Option(help="Index from tacit export, with --known.", show_default=False),
    ] = None
    as_json: AsJson = False

    def among(self, model: ItemModel) -> dict[str, Any]:
        """Keywords of `ItemModel.recommend` that say which items there are to choose from."""
        words = None if self.candidates is None else self.candidates.split(",")
        only: Any = words and _own_ids(model, [word.strip() for word in words if word.strip()])
        if self.index is not None:
            only = tacit.NearestItems.load(self.index)
        seen = "leave out" if self.seen == "leave-out" else "keep"
        return {"seen": seen, "candidates": only, "unknown_items": self.unknown_items}


@verb
def recommend(
    *,
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    known: Annotated[
        str | None,
        typer.Option(
            help="One user's ratings: 'id=5,id2=3', or a JSON file; items alone where implicit.",
            show_default=False,
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(help="Many users' ratings: a Parquet file, or a folder.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="For --users: a Parquet file; with Spark a new folder of them.",
            show_default=False,
        ),
    ] = None,
    choice: Choice,
    cluster: Cluster,
) -> None:
    """Recommend items for one user (--known), or for many from a file (--users, --output).

    Needs the model and her ratings, nothing else. Without a rating (--known "") she gets the best
    items of all.
    """
    if (known is None) == (users is None):
        raise ValueError("give either --known, for one user, or --users, for many from a file")
    if (users is None) != (output is None):
        raise ValueError("--users and --output go together")
    if choice.index is not None and (users is not None or choice.candidates is not None):
        raise ValueError("--index goes with --known, and without --candidates")
    loaded = tacit.load(model)
    if users is None or output is None:
        found = loaded.recommend(_history(loaded, known or ""), choice.n, **choice.among(loaded))
        _show(loaded, found, as_json=choice.as_json)
        return
    with cluster.opened(users) as opened:
        done = _many(loaded, opened, output, choice)
    if choice.as_json:
        say_json({"output": str(output), "users": done})
    else:
        say(f"{done:,} users, up to {choice.n} items each: {output}")


def _many(model: ItemModel, users: Any, output: str, choice: Choice) -> int:
    """Write lists for all users of a file, or of a DataFrame; how many users there are."""
    done = 0

    def progress(so_far: int) -> None:
        nonlocal done
        done = so_far
        interrupts.stop_if_asked()

    with busy("Recommending to all users"):
        if not isinstance(users, str):
            lists = recommend_frame(model, users, choice.n, **choice.among(model))
            return save_lists(lists, output)
        recommend_file(model, users, output, choice.n, progress=progress, **choice.among(model))
    return done


def _show(model: ItemModel, found: Any, *, as_json: bool) -> None:
    titles = dict(zip(model.item_ids.tolist(), model.titles or (), strict=False))
    rows = [{"item": item, "title": titles.get(item, ""), "score": score} for item, score in found]
    if as_json:
        say_json({"recommendations": rows})
        return
    table = Table()
    table.add_column("item")
    if titles:
        table.add_column("title")
    table.add_column("score", justify="right")
    for row in rows:
        cells = [row["item"], row["title"]] if titles else [row["item"]]
        table.add_row(*map(str, cells), f"{row['score']:.3f}")
    Console().print(table)


def _history(model: ItemModel, text: str) -> dict[Any, float]:
    """The ratings by the model's own ids: 7 and "7" are the same id."""
    alone = model.feedback == "implicit"
    given = _from_file(Path(text)) if text.endswith(".json") else _pairs(text, alone=alone)
    return dict(zip(_own_ids(model, given), given.values(), strict=True))


def _own_ids(model: ItemModel, given: Iterable[Any]) -> list[Any]:
    own = {str(item): item for item in model.item_ids.tolist()}
    return [own.get(str(item), item) for item in given]


def _pairs(text: str, *, alone: bool) -> dict[str, float]:
    """{id: rating}; of items without a rating, a rating of 1 where they may stand alone."""
    ratings = {}
    for number, pair in enumerate(filter(None, text.split(",")), 1):
        item, equals, rating = pair.rpartition("=")
        if alone and not equals:
            item, rating = pair, "1"
        if not item:
            raise ValueError(f"--known: pair {number} is not of the form id=rating")
        ratings[item.strip()] = _number(rating, f"--known: pair {number}")
    return ratings


def _from_file(path: Path) -> dict[str, float]:
    """{id: rating}, or a list of ids with a rating of 1 each."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        given = None
    if isinstance(given, list) and all(isinstance(each, (str, int)) for each in given):
        return {str(item): 1.0 for item in given}
    if not isinstance(given, dict):
        raise ValueError(  # noqa: TRY004  (a file's content, not an argument's type)
            f"{path} is not a JSON object of the form {{id: rating}}"
        )
    return {item: _number(rating, f"{path}: a rating") for item, rating in given.items()}


def _number(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        pass  # what float says quotes the value
    raise ValueError(f"{where} has no number for a rating")
