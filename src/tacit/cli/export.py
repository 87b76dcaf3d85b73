# SPDX-License-Identifier: Apache-2.0
"""`tacit export`: an index of a model's items, for large catalogues."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (an option)
from typing import Annotated

import typer

import tacit
from tacit.cli.verb import AsJson, say, say_json, verb


@verb
def export(
    *,
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the index.")],
    as_json: AsJson = False,
) -> None:
    """Write an index of the items that finds a user's best ones without looking at all of them.

    It goes to tacit recommend --index. Made of what the model holds, so that it reveals no more.
    """
    index = tacit.load(model).export_index(output)
    if as_json:
        say_json({"index": str(output), "items": index.n_items})
    else:
        say(f"{index.n_items:,} items: {output}")
