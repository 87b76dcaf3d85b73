# SPDX-License-Identifier: Apache-2.0
"""`tacit inspect`: what a saved model may reveal."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  (an option)
from typing import Annotated

import typer

import tacit
from tacit.cli.verb import AsJson, say, say_json, verb


@verb
def inspect(
    *,
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    level: Annotated[
        float | None,
        typer.Option(help="Say what a user who declared this privacy level (0 to 1) risks."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a saved model may reveal: its statement in plain words, then in full."""
    loaded = tacit.load(model)
    items, rank = loaded.item_factors.shape
    own = {} if level is None else {"epsilon_of_level": loaded.statement.epsilon_of(level)}
    if as_json:
        statement = json.loads(loaded.statement.to_json())
        facts = {"items": items, "rank": rank, "scale": list(loaded.scale)}
        say_json(facts | own | {"plain": loaded.statement.plain(), "statement": statement})
        return
    low, high = loaded.scale
    say(f"{model}: {items:,} items, rank {rank}, ratings {low:g} to {high:g}\n")
    say(f"IN PLAIN WORDS\n{loaded.statement.plain()}\n")
    say(f"IN FULL\n{loaded.statement}")
    for epsilon in own.values():
        delta = loaded.statement.delta
        say(f"\nA user at level {level:g}: epsilon {epsilon:.5g} at delta {delta:g}")
