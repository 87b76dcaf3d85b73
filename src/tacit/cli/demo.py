# SPDX-License-Identifier: Apache-2.0
"""`tacit demo`: what privacy costs, on made-up ratings, as a table and a picture."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import tacit
from tacit.cli.picture import bars, write
from tacit.cli.progress import busy
from tacit.cli.settings import DEFAULT
from tacit.cli.verb import AsJson, say, say_json, verb
from tacit.evaluation.report import LABEL, Protocol, evaluate
from tacit.evaluation.split import leave_part_out
from tacit.evaluation.trials import trial
from tacit.solvers import SOLVERS

if TYPE_CHECKING:
    from tacit.evaluation.report import Report
    from tacit.model.item_model import ItemModel

_ITEMS, _RATINGS_PER_USER, _RANK = 1_000, 120, 4


class _Case(NamedTuple):
    name: str
    algorithm: str
    epsilon: float


def _cases() -> list[_Case]:
    """The default algorithm at three budgets, and what it has to beat at the middle one."""
    budgets = {"not private": math.inf, "epsilon 10": 10.0, "epsilon 1": 1.0}
    cases = [_Case(f"{DEFAULT}, {name}", DEFAULT, epsilon) for name, epsilon in budgets.items()]
    others = [name for name in ("item-offsets", "popularity") if name != DEFAULT]
    return cases + [_Case(f"{name}, epsilon 1", name, 1.0) for name in others]


@verb
def demo(
    *,
    users: Annotated[int, typer.Option(min=100, help="How many made-up users.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the made-up ratings; the noise has none.")] = 0,
    output: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path(
        "demo-output/demo.svg"
    ),
    as_json: AsJson = False,
) -> None:
    """Train on made-up ratings with and without privacy; print a table, write a picture."""
    start = time.perf_counter()
    with busy(f"Making up ratings of {users:,} users"):
        ratings = tacit.datasets.movielens_like(
            users, _ITEMS, users * _RATINGS_PER_USER, _RANK, seed=seed
        )
        train, test = leave_part_out(ratings, 0.1, seed=seed)
        judged = trial(train, test)
    reports: dict[str, Report] = {}
    for case in _cases():
        with busy(f"Training {case.name}"):
            solver = SOLVERS[case.algorithm]()
            reports[case.name] = evaluate(
                train, judged, solver, epsilon=case.epsilon, protocol=Protocol(seeds=1)
            )
    figures: dict[str, dict[str, float]] = {
        figure: {name: report.mean[figure] for name, report in reports.items()}
        for figure in ("rmse", "recall@20")
    }
    write(output, _picture(users, figures))
    seconds = time.perf_counter() - start
    if as_json:
        facts: dict[str, Any] = {
            f"{name}.{figure}": value
            for figure in figures
            for name, value in figures[figure].items()
        }
        say_json({"label": LABEL, **facts, "picture": str(output), "seconds": seconds})
        return
    _show(users, reports)
    model = reports[f"{DEFAULT}, epsilon 1"].model
    _show_recommendation(model)
    say(f"{model.statement}\n\nPicture: {output}. All of it took {seconds:.1f} s.")


def _picture(users: int, figures: dict[str, dict[str, float]]) -> str:
    titles = {
        "rmse": "test error (RMSE), less is better",
        "recall@20": "recall@20, more is better",
    }
    panels = {titles[figure]: values for figure, values in figures.items()}
    return bars(f"What privacy costs: {users:,} made-up users", f"Raw figures: {LABEL}.", panels)


def _show(users: int, reports: dict[str, Report]) -> None:
    table = Table(title=f"What privacy costs: {users:,} made-up users, {_ITEMS:,} items")
    for column in ("", "RMSE", "", "recall@20", "", "seconds"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    errors = [report.mean["rmse"] for report in reports.values()]
    recalls = [report.mean["recall@20"] for report in reports.values()]
    for name, report in reports.items():
        rmse, recall = report.mean["rmse"], report.mean["recall@20"]
        table.add_row(
            name,
            f"{rmse:.4f}",
            _bar(rmse, errors),
            f"{recall:.4f}",
            _bar(recall, recalls),
            f"{report.seconds[0]:.2f}",
        )
    console = Console()
    console.print(table)
    console.print(f"[dim]Raw figures, {LABEL}. The made-up ratings are nobody's.[/dim]\n")


def _bar(value: float, among: list[float]) -> str:
    """Longer is more; the longest has 6 blocks, and differences count from the smallest on."""
    low, high = min(among), max(among)
    return "█" * round(1 + 5 * (value - low) / max(high - low, 1e-12))


def _show_recommendation(model: ItemModel) -> None:
    """One made-up visitor's list, computed from the model and her ratings alone."""
    ids = model.item_ids.tolist()
    liked, disliked = np.argsort(-model.item_offsets)[[3, -3]]
    known = {ids[liked]: model.scale[1], ids[disliked]: model.scale[0]}
    rated = ", ".join(f"item {item} = {rating:g}" for item, rating in known.items())
    table = Table(title=f"{DEFAULT} at epsilon 1, for a visitor who rated {rated}")
    table.add_column("recommended item", justify="right")
    table.add_column("predicted rating", justify="right")
    for item, score in model.recommend(known, n=5):
        table.add_row(str(item), f"{score:.2f}")
    Console().print(table)
