# SPDX-License-Identifier: Apache-2.0
"""`tacit plan`: what a training will release and spend, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit.cli.settings import Algorithm, Cost  # noqa: TC001  (options)
from tacit.cli.sources import Reading  # noqa: TC001  (options)
from tacit.cli.verb import AsJson, say_json, verb
from tacit.mechanisms.gaussian import RELATIVE_ERROR
from tacit.training import calibrated_plan

if TYPE_CHECKING:
    from tacit.accounting.release import Plan


@verb
def plan(
    *,
    cost: Cost,
    algorithm: Algorithm,
    reading: Reading,
    source: Annotated[
        str | None,
        typer.Argument(help="Ratings; only public facts of them are used.", show_default=False),
    ] = None,
    users: Annotated[
        int | None, typer.Option(min=2, help="How many users.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show every release of a training with its bound, noise and share of the budget.

    Give --users, --scale and --items (a number) to ask before any data is read. With SOURCE they
    are taken from it: the number of users, the catalogue and the scale, which every statement
    names as public. No rating is used and nothing is spent.
    """
    n_users, n_items, scale = _facts(source, users, reading)
    budget = cost.budget(n_users)
    _, planned = calibrated_plan(
        algorithm.solver(implicit=reading.implicit),
        n_users=n_users,
        n_items=n_items,
        scale=scale,
        budget=budget,
    )
    facts = {
        "algorithm": algorithm.algorithm,
        "users": n_users,
        "items": n_items,
        "scale": list(scale),
        **_figures(planned, budget.delta),
    }
    if as_json:
        say_json(facts)
    else:
        _show(facts)


def _facts(
    source: str | None, users: int | None, reading: Reading
) -> tuple[int, int, tuple[float, float]]:
    """Users, items and scale, from the options or from a source."""
    if source is not None:
        if users is not None:
            raise ValueError("--users goes without SOURCE, which tells the number of users")
        ratings = reading.read(source)
        return ratings.n_users, ratings.n_items, (ratings.scale.low, ratings.scale.high)
    scale = (0.0, 1.0) if reading.implicit and reading.scale is None else reading.scale
    if users is None or reading.items is None or scale is None:
        raise ValueError("give --users, --items and --scale, or a SOURCE that tells them")
    if not reading.items.isdecimal() or int(reading.items) < 1:
        raise ValueError("without SOURCE, --items is the number of items")
    if not -math.inf < scale[0] < scale[1] < math.inf:
        raise ValueError("--scale wants the lowest and the highest rating, in this order")
    return users, int(reading.items), scale


def _figures(planned: Plan, delta: float) -> dict[str, Any]:
    """What the plan costs, as a whole and release by release."""
    total = sum(release.mu_squared for release in planned.releases)
    return {
        "epsilon": planned.epsilon(delta, RELATIVE_ERROR),
        "delta": delta,
        "mu": planned.mu,
        "replace_one.epsilon": planned.epsilon_replace(delta, RELATIVE_ERROR),
        "releases": [
            asdict(release)
            | {"share": math.nan if math.isinf(total) else release.mu_squared / total}
            for release in planned.releases
        ],
    }


def _show(facts: dict[str, Any]) -> None:
    private = not math.isinf(facts["epsilon"])
    low, high = facts["scale"]
    table = Table(
        title=f"{facts['algorithm']}: {facts['users']:,} users, {facts['items']:,} items, "
        f"ratings {low:g} to {high:g}"
    )
    for column in ("release", "bound (l2)", "noise std", "times", "numbers", "share of mu^2"):
        table.add_column(column, justify="left" if column == "release" else "right")
    for release in facts["releases"]:
        table.add_row(
            release["name"],
            f"{release['l2']:.4g}",
            f"{release['std']:.4g}",
            str(release["times"]),
            f"{release['size']:,}",
            f"{100 * release['share']:.1f}%" if private else "-",
        )
    console = Console()
    console.print(table)
    console.print(
        f"epsilon {facts['epsilon']:.4g} at delta {facts['delta']:g}, mu {facts['mu']:.4g}; "
        f"replace-one epsilon {facts['replace_one.epsilon']:.4g}. Nothing is spent yet."
        if private
        else "NOT PRIVATE: no noise at an infinite epsilon.",
        highlight=False,
    )
