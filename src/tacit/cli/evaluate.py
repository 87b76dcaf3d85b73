# SPDX-License-Identifier: Apache-2.0
"""`tacit evaluate`: train with several seeds and judge the models on test ratings."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit.cli.progress import busy, training
from tacit.cli.settings import Algorithm, Cost  # noqa: TC001  (options)
from tacit.cli.sources import Reading  # noqa: TC001  (options)
from tacit.cli.verb import AsJson, say, say_json, verb
from tacit.evaluation.buckets import BUCKETS
from tacit.evaluation.private import private_error
from tacit.evaluation.report import LABEL, Protocol
from tacit.evaluation.report import evaluate as judge_seeds
from tacit.evaluation.trials import trial
from tacit.training import calibrated_plan

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.evaluation.private import PrivateFigure
    from tacit.evaluation.report import Report
    from tacit.evaluation.trials import Trial
    from tacit.solvers.base import Solver
    from tacit.training import Budget


@dataclass(frozen=True, slots=True)
class Judging:
    """How models are judged."""

    history: Annotated[
        str | None,
        typer.Option(
            help="What may be known of the test's users; TRAIN by default.", show_default=False
        ),
    ] = None
    seeds: Annotated[int, typer.Option(min=1, help="How many trainings.")] = 5
    k: Annotated[int, typer.Option("-k", min=1, help="Length of the lists.")] = 20
    private_epsilon: Annotated[
        float, typer.Option(min=0, help="Of the private figure beside the raw ones; 0: none.")
    ] = 0.5
    threads: Annotated[
        int | None, typer.Option(min=1, help="All cores by default.", show_default=False)
    ] = None
    as_json: AsJson = False


@verb
def evaluate(
    *,
    train: Annotated[str, typer.Argument(help="Ratings to train on.")],
    test: Annotated[str, typer.Option("--test", help="Ratings that are asked for.")],
    cost: Cost,
    algorithm: Algorithm,
    reading: Reading,
    judging: Judging,
) -> None:
    """Train with several seeds and judge the models on test ratings.

    The figures are raw: computed on the ratings themselves, no statement covers them. The private
    figure is a charged release with a statement of its own. With --implicit a test user without
    rows in TRAIN (or in HISTORY) is a held-out user: 80% of her test rows are her history.
    """
    start = time.perf_counter()
    solver = algorithm.solver(implicit=reading.implicit)
    ratings, judged = _read(reading, train, test, judging.history)
    budget = cost.budget(ratings.n_users)
    report = _trained(ratings, judged, solver, budget, judging)
    figure = None
    if judging.private_epsilon > 0 and not reading.implicit:
        figure = _private(report, judged, judging.private_epsilon)
    facts = _facts(report, judged, figure)
    facts["algorithm"] = algorithm.algorithm
    facts["seconds.total"] = time.perf_counter() - start
    if judging.as_json:
        say_json(facts)
    else:
        _show(facts, judging.k, figure)


def _trained(
    ratings: Ratings, judged: Trial, solver: Solver, budget: Budget, judging: Judging
) -> Report:
    _, plan = calibrated_plan(
        solver,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        scale=judged.scale,
        budget=budget,
    )
    epsilon, delta, seeds = budget.epsilon, budget.delta, judging.seeds
    with training(plan, delta, runs=seeds) as (journal, progress):
        protocol = Protocol(seeds, judging.k, judging.threads, journal, progress)
        return judge_seeds(ratings, judged, solver, epsilon=epsilon, delta=delta, protocol=protocol)


def _read(reading: Reading, train: str, test: str, history: str | None) -> tuple[Ratings, Trial]:
    """Training data and trial. The test is read as it is; what does not match is left out later."""
    ratings = reading.read(train)
    same: dict[str, Any] = {"items": "source"}
    if not reading.implicit:
        same["scale"] = (ratings.scale.low, ratings.scale.high)
    asked = reading.read(test, **same)
    known = None if history is None else reading.read(history, **same)
    with busy("Matching users and items"):
        return ratings, trial(ratings, asked, history=known, split_strangers=reading.implicit)


def _private(report: Report, judged: Trial, epsilon: float) -> PrivateFigure:
    try:
        return private_error(report.model.folding, judged, epsilon=epsilon)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{len(report.runs)} whole trainings are spent, of epsilon "
            f"{report.model.statement.epsilon:.5g} each, and the private figure may be, of epsilon "
            f"{epsilon:g}; nothing was shown"
        ) from None


def _facts(report: Report, judged: Trial, figure: PrivateFigure | None) -> dict[str, Any]:
    """Everything by flat names."""
    mean, std = report.mean, report.std
    statement = report.model.statement
    facts: dict[str, Any] = {"label": LABEL}
    for name in mean:
        facts[f"{name}.mean"] = mean[name]
        facts[f"{name}.std"] = std[name]
    facts |= {
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "private": statement.private,
        "seeds": len(report.runs),
        "seconds": sum(report.seconds) / len(report.seconds),
        "rows.judged": len(judged.target.items),
        "rows.left_out": judged.left_out,
        "users.without_history": judged.without_history,
    }
    if figure is not None:
        facts |= {
            "private.rmse": figure.value,
            "private.noise": figure.noise,
            "private.epsilon": figure.statement.epsilon,
            "private.delta": figure.statement.delta,
        }
    return facts


def _show(facts: dict[str, Any], k: int, figure: PrivateFigure | None) -> None:
    console = Console()
    seeds = facts["seeds"]
    table = Table(title=f"{facts['algorithm']}: mean and deviation over {seeds} seed(s)")
    table.add_column("RAW FIGURE")
    for column in ("all items", *BUCKETS):
        table.add_column(column, justify="right")
    for name in ("rmse", "mae", f"recall@{k}", f"ndcg@{k}", f"coverage@{k}"):
        cells = [_cell(facts, name), *(_cell(facts, f"{name}.{bucket}") for bucket in BUCKETS)]
        table.add_row(name, *cells)
    console.print(table)
    say(f"The figures above are {facts['label']}.")
    say("head, middle and tail: items with a third of the training ratings each.")
    if facts["rows.left_out"]:
        say(f"Left out (raw count): {facts['rows.left_out']} test rows of items unknown to TRAIN.")
    if facts["users.without_history"]:
        strangers = facts["users.without_history"]
        say(f"Judged as strangers (raw count): {strangers} test users without history.")
    epsilon, delta = facts["epsilon"], facts["delta"]
    cost = f"epsilon {epsilon:.5g} at delta {delta:g}" if facts["private"] else "NOT PRIVATE"
    say(f"Each model: {cost}; {facts['seconds']:.2f} s of training on average.")
    if figure is not None:
        say(
            f"\nPRIVATE FIGURE (first model): root of the mean over users of their mean squared "
            f"error, each cut to {figure.bound:g}: {figure.value:.4f}; its noise moves the mean "
            f"under the root by {figure.noise:.2g}.\n{figure.statement}"
        )


def _cell(facts: dict[str, Any], name: str) -> str:
    mean, std = facts[f"{name}.mean"], facts[f"{name}.std"]
    if mean != mean:  # noqa: PLR0124  (NaN: a figure over nothing)
        return "-"
    return f"{mean:.4f}" if std != std else f"{mean:.4f}±{std:.3f}"  # noqa: PLR0124  (as above)
