# SPDX-License-Identifier: Apache-2.0
"""The one composition root: ratings -> engine -> curator -> solver -> model."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from tacit.accounting import gdp, personal
from tacit.accounting.calibrate import calibrate, default_delta
from tacit.accounting.public import Public
from tacit.accounting.statement import PrivacyStatement
from tacit.data.block import UserBlock
from tacit.data.prepared import PreparedRows
from tacit.data.ratings import Ratings
from tacit.data.read import read
from tacit.data.spark import SparkRows
from tacit.engines.local import LocalThreads
from tacit.engines.spark import SparkEngine
from tacit.engines.stream import StreamedParquet
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import NoiseSource
from tacit.mechanisms.gaussian import RELATIVE_ERROR
from tacit.model.item_model import ItemModel
from tacit.model.made_by import MadeBy
from tacit.solvers.als import ALS
from tacit.solvers.warm_start import WarmStart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tacit.accounting.release import Plan
    from tacit.engines.base import Engine
    from tacit.solvers.base import Solver

NOT_COVERED = (
    "whoever can look into the training machine while it trains",
    "further models trained on the same ratings: their budgets add up",
    "hyper-parameters that somebody chose by looking at results on the same ratings",
    "how long training took",
)


@dataclass(frozen=True, slots=True)
class Fit:
    """A trained model and what it may reveal."""

    model: ItemModel

    @property
    def statement(self) -> PrivacyStatement:
        return self.model.statement


@dataclass(frozen=True, slots=True)
class Budget:
    """What the whole training may cost."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(
                f"epsilon must be above 0, got {self.epsilon}; usual values are 0.5 to 20, "
                "math.inf trains without privacy"
            )
        if not 0 < self.delta < 1:
            raise ValueError(
                f"delta must be between 0 and 1, got {self.delta}; leave it out for a sound default"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """How a training is carried out; none of it changes what is planned.

    source: of the noise; a seeded one taints the statement.
    threads: all cores if none is given.
    journal: a file to which every spend is appended before it happens.
    progress: told the name of each release when it is done.
    """

    source: NoiseSource = field(default_factory=NoiseSource)
    threads: int | None = None
    journal: Path | None = None
    progress: Callable[[str], None] = lambda _: None


def fit(
    ratings: Ratings | Any,
    solver: Solver | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    threads: int | None = None,
    journal: Path | None = None,
) -> Fit:
    """Train a recommender under user-level joint differential privacy.

    Args:
        ratings: from `tacit.read`; or a Spark DataFrame, read as `tacit.read` does by itself.
        solver: the algorithm with its hyper-parameters; `ALS()` if none is given.
        epsilon: the whole budget; `math.inf` trains without privacy, and the statement says so.
            A start that was private itself is counted beside it (`WarmStart`).
        delta: the largest power of ten not above 1 / (10 users) if none is given.
        threads: all cores if none is given; the result does not depend on it.
        journal: a file to which every spend is appended before it happens.

    Guarantee:
        The model is (epsilon, delta)-differentially private in all ratings of any one user
        (zero-out adjacency), as `Fit.statement` lists release by release. proofs/curator.md.

    Raises:
        ValueError: a parameter is out of range; nothing was spent.
    """
    if not isinstance(ratings, Ratings):
        found = read(ratings)
        try:
            return fit(found, solver, epsilon=epsilon, delta=delta, journal=journal)
        finally:
            if isinstance(found.rows, SparkRows):
                found.rows.unpersist()
    budget = Budget(epsilon, default_delta(ratings.n_users) if delta is None else delta)
    if budget.delta > 1 / ratings.n_users:
        warnings.warn(
            f"delta={budget.delta:g} is above 1/n with n = {ratings.n_users} users: such a delta "
            "allows publishing one user's whole row; use a smaller one",
            stacklevel=2,
        )
    execution = Execution(threads=threads, journal=journal)
    return train(ratings, solver or ALS(), budget, execution)


def train(ratings: Ratings, solver: Solver, budget: Budget, execution: Execution) -> Fit:
    """`fit` with the noise source and progress in the caller's hands."""
    scale = (ratings.scale.low, ratings.scale.high)
    solver, start = matched(solver, ratings, budget)
    public, plan = calibrated_plan(
        solver,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        scale=scale,
        budget=budget,
        feedback=ratings.scale.feedback,
    )
    engine = engine_of(with_own_levels(ratings, plan, budget), execution)
    source, journal = execution.source, execution.journal
    curator = DataCurator(
        engine, public, plan, source, journal=journal, progress=execution.progress
    )
    fold_in = solver.fit(curator)
    before = start.releases(public) if start else ()
    error = start.model.statement.relative_error if start and before else 0.0
    statement = PrivacyStatement.of(
        (*curator.ledger.releases, *before),
        delta=budget.delta,
        n_users=ratings.n_users,
        public=public_assumptions(ratings) + (start.assumptions(public) if start else ()),
        not_covered=NOT_COVERED,
        noise_source=source.description,
        relative_error=max(RELATIVE_ERROR, error),
        version=version("tacit"),
        tainted=source.tainted,
    )
    model = ItemModel(
        item_ids=ratings.catalogue.ids,
        folding=fold_in,
        scale=scale,
        statement=statement,
        titles=ratings.catalogue.titles,
        made_by=MadeBy.of(solver, version("tacit")),
    )
    return Fit(model)


def matched(solver: Solver, ratings: Ratings, budget: Budget) -> tuple[Solver, WarmStart | None]:
    """The solver with its start over the items of these ratings, and that start."""
    start = start_of(solver)
    if start is None:
        return solver, None
    found = start.on(ratings.catalogue.ids, ratings.scale.low, ratings.scale.high)
    if ratings.personal and not start.declared_public and math.isfinite(budget.epsilon):
        raise ValueError(
            "these users may declare a privacy of their own, which the training of the start knew "
            "nothing of: what it has spent on them is not scaled by their levels. Train without a "
            "start, or without the column `privacy`"
        )
    again: Solver = replace(solver, start=found)  # type: ignore[type-var]
    return again, found


def start_of(solver: Solver) -> WarmStart | None:
    """The earlier model that a solver begins from, if there is one."""
    start = getattr(solver, "start", None)
    return start if isinstance(start, WarmStart) else None


def engine_of(ratings: Ratings, execution: Execution) -> Engine:
    """Where the rows lie decides who adds them up."""
    rows = ratings.rows
    if isinstance(rows, UserBlock):
        return LocalThreads(rows, threads=execution.threads)
    if isinstance(rows, PreparedRows):
        return StreamedParquet(rows, threads=execution.threads)
    if isinstance(rows, SparkRows):
        return SparkEngine(rows)
    raise TypeError(f"no engine adds up a {type(rows).__name__}")


def calibrated_plan(
    solver: Solver,
    *,
    n_users: int,
    n_items: int,
    scale: tuple[float, float],
    budget: Budget,
    feedback: Literal["explicit", "implicit"] = "explicit",
) -> tuple[Public, Plan]:
    """The solver's plan with its noise, from public facts alone."""
    mu = math.inf if math.isinf(budget.epsilon) else gdp.mu(budget.epsilon, budget.delta)
    public = Public(n_users, n_items, low=scale[0], high=scale[1], mu=mu, feedback=feedback)
    if start := start_of(solver):
        start.check(public)
    plan = calibrate(
        solver.plan(public), budget.epsilon, budget.delta, relative_error=RELATIVE_ERROR
    )
    return public, plan


def with_own_levels(ratings: Ratings, plan: Plan, budget: Budget) -> Ratings:
    """The same with the level of each user who named an epsilon: it follows from the plan."""
    own = ratings.own_epsilons
    if own is None:
        return ratings
    found = personal.levels(own, plan.releases, budget.delta, relative_error=RELATIVE_ERROR)
    return replace(ratings, rows=replace(ratings.block, levels=found))


def public_assumptions(ratings: Ratings) -> tuple[str, ...]:
    """What the statement must say was taken as public."""
    catalogue, scale = ratings.catalogue, ratings.scale
    items = (
        f"item catalogue: {len(catalogue)} items, given apart from the ratings"
        if catalogue.origin == "file"
        else f"item catalogue: EVERY ITEM OF THE RATINGS ({len(catalogue)}) WAS TAKEN AS PUBLIC; "
        "if an item's presence may reveal a user, give the catalogue as `items=`"
    )
    origin = (
        "declared"
        if scale.origin == "declared"
        else "RECOGNISED IN THE RATINGS among the usual scales; declare it as `scale=`"
    )
    personal_levels = (
        "that users could declare a privacy level of their own. Who did, and which, is protected. "
        "The epsilon above is that of level 1, the worst; who declared less has a smaller one "
        "(`epsilon_of`), to be told to nobody but her"
    )
    return (
        items,
        f"rating scale: {scale.low:g} to {scale.high:g}, {origin}",
        *([personal_levels] if ratings.personal else []),
    )
