# SPDX-License-Identifier: Apache-2.0
"""A figure that may be published: each user's error, cut, summed and released with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting import gdp
from tacit.accounting.calibrate import calibrate, default_delta
from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.accounting.statement import PrivacyStatement
from tacit.contributions import UserMetric
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import NoiseSource
from tacit.mechanisms.gaussian import RELATIVE_ERROR
from tacit.training import NOT_COVERED, Budget

if TYPE_CHECKING:
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn

_USES = (
    "the model that is judged: what it may reveal is in its own statement, and the two add up",
    "which users are tested",
)


@dataclass(frozen=True, slots=True)
class PrivateFigure:
    """A released error with its noise and what it cost.

    value: root of the mean over users of each one's mean squared error ("squared"), or the mean of
        their mean absolute errors; every user counts once, and at most `bound`.
    noise: standard deviation that the noise gave to the mean under the root.
    """

    value: float
    noise: float
    bound: float
    error: Literal["squared", "absolute"]
    statement: PrivacyStatement


def private_error(
    fold_in: FoldIn,
    trial: Trial,
    *,
    epsilon: float,
    delta: float | None = None,
    error: Literal["squared", "absolute"] = "squared",
    bound: float | None = None,
) -> PrivateFigure:
    """How far the model is off for the trial's users, under differential privacy.

    Args:
        fold_in: the model; it counts as public here.
        trial: the users, with what is known of each and what is asked.
        epsilon: the whole budget of this one release, apart from the model's.
        delta: as in `tacit.fit`.
        error: of one rating.
        bound: a user's mean error counts as at most this; by default that of a user who is half
            the scale off everywhere.

    Guarantee:
        The figure is (epsilon, delta)-differentially private in all of a user's rows, history and
        target together (zero-out adjacency). proofs/contributions/user-metric.md

    Raises:
        ValueError: a parameter is out of range; nothing was spent.
    """
    if trial.personal:
        raise ValueError(
            "some of these users may have declared a privacy level of their own, and a mean over "
            "users needs them all at the same: judge on users who could not declare one"
        )
    n_users = trial.target.n_users
    budget = Budget(epsilon, default_delta(n_users) if delta is None else delta)
    half = (trial.scale[1] - trial.scale[0]) / 2
    if bound is None:
        bound = half * half if error == "squared" else half
    source = NoiseSource()
    curator = _curator(trial, bound, budget, source)
    metric = UserMetric(_twice(fold_in), bound, error, held_out=_second_half(fold_in.n_items))
    noisy = float(curator.noisy_sum(metric, "error")["sum"][0]) / n_users
    mean = max(noisy, 0.0)
    statement = PrivacyStatement.of(
        curator.ledger.releases,
        delta=budget.delta,
        n_users=n_users,
        public=(*_USES, f"rating scale: {trial.scale[0]:g} to {trial.scale[1]:g}"),
        not_covered=NOT_COVERED,
        noise_source=source.description,
        relative_error=RELATIVE_ERROR,
        version=version("tacit"),
        tainted=source.tainted,
    )
    return PrivateFigure(
        value=math.sqrt(mean) if error == "squared" else mean,
        noise=curator.plan["error.sum"].std / n_users,
        bound=bound,
        error=error,
        statement=statement,
    )


def _curator(trial: Trial, bound: float, budget: Budget, source: NoiseSource) -> DataCurator:
    """A curator over the trial's users whose plan is the one figure."""
    mu = math.inf if math.isinf(budget.epsilon) else gdp.mu(budget.epsilon, budget.delta)
    low, high = trial.scale
    block = _together(trial)
    public = Public(block.n_users, block.n_items, low=low, high=high, mu=mu)
    plan = Plan((Release.share("error.sum", l2=bound, share=1.0, cone=True),))
    plan = calibrate(plan, budget.epsilon, budget.delta, relative_error=RELATIVE_ERROR)
    return DataCurator(LocalThreads(block), public, plan, source)


# A user is one row, so history and target stand in one: an item j of the history as j, of the
# target as j + m, over a catalogue that lists every item twice. Both copies have the same factors.


def _together(trial: Trial) -> UserBlock:
    """History and target as one row for each user, over the doubled catalogue."""
    past, asked = trial.history, trial.target
    users = np.concatenate([past.user_of_rating(), asked.user_of_rating()])
    order = np.argsort(users, kind="stable")
    items = np.concatenate([past.items, asked.items + np.int32(past.n_items)])[order]
    values = np.concatenate([past.values, asked.values])[order]
    return UserBlock(past.indptr + asked.indptr, items, values, 2 * past.n_items)  # all at level 1


def _twice(fold_in: FoldIn) -> FoldIn:
    """The same model over the doubled catalogue: a user's factor and predictions do not change."""
    centring = fold_in.centring
    if isinstance(centring.offsets, np.ndarray):
        centring = replace(centring, offsets=np.tile(centring.offsets, 2))
    return replace(
        fold_in,
        item_factors=np.concatenate([fold_in.item_factors, fold_in.item_factors]),
        centring=centring,
        unobserved=fold_in.unobserved / 2,
    )


def _second_half(n_items: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.arange(2 * n_items) >= n_items
