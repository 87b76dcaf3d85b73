# SPDX-License-Identifier: Apache-2.0
"""Several seeds, and the private figure beside the raw ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tacit import datasets
from tacit.contributions import UserMetric
from tacit.evaluation import LABEL, Protocol, evaluate, leave_part_out, private_error, trial
from tacit.evaluation.private import _second_half, _together, _twice
from tacit.folding import Centring, FoldIn
from tacit.solvers import ItemOffsets


@pytest.fixture(scope="module")
def parts():
    ratings = datasets.movielens_like(users=600, items=80, ratings=9000, seed=1)
    train, test = leave_part_out(ratings, 0.2)
    return train, trial(train, test)


def test_seeds_differ_and_are_summed_up(parts):
    report = evaluate(*parts, ItemOffsets(steps=1), epsilon=1.0, protocol=Protocol(seeds=3))
    values = [run["rmse"] for run in report.runs]
    assert len(set(values)) == len(report.seconds) == 3
    assert report.mean["rmse"] == pytest.approx(sum(values) / 3)
    assert report.std["rmse"] == pytest.approx(np.std(values, ddof=1))
    assert report.model.statement.epsilon <= 1.0
    assert LABEL in repr(report)


def test_one_seed_has_no_deviation(parts):
    report = evaluate(*parts, ItemOffsets(steps=1), epsilon=math.inf, protocol=Protocol(seeds=1))
    assert math.isnan(report.std["rmse"])
    assert not report.model.statement.private
    with pytest.raises(ValueError, match="seeds must be"):
        evaluate(*parts, ItemOffsets(), epsilon=1.0, protocol=Protocol(seeds=0))


@dataclass(frozen=True)
class _Seeded(ItemOffsets):
    """Remembers the seed that it was trained with by where it puts the offsets."""

    seed: int = 7

    def fit(self, curator):
        fold_in = super().fit(curator)
        offsets = np.full(curator.public.n_items, float(self.seed))
        return FoldIn(fold_in.item_factors, Centring(offsets))


def test_a_solver_with_a_seed_gets_another_each_time(parts):
    report = evaluate(*parts, _Seeded(steps=1), epsilon=math.inf, protocol=Protocol(seeds=2))
    assert report.model.item_offsets[0] == 7
    assert report.runs[0]["rmse"] == report.runs[1]["rmse"]  # 7 and 8 are both cut to 5


@pytest.mark.parametrize("unobserved", [0.0, 0.3])
@pytest.mark.parametrize("error", ["squared", "absolute"])
def test_the_private_sum_is_that_of_each_user_by_herself(parts, rng, error, unobserved):
    """Over the doubled catalogue a user folds in with her history alone."""
    judged = parts[1]
    model = FoldIn(
        rng.normal(0, 0.3, (80, 3)).astype(np.float32),
        Centring(rng.normal(3, 0.3, 80), mean_ridge=1.0),
        ridge=3.0,
        ridge_power=0.5,
        unobserved=unobserved,
    )
    bound = 1.5
    metric = UserMetric(_twice(model), bound, error, held_out=_second_half(80))
    released = metric(_together(judged))["sum"][0] * metric.parts[0].step
    errors = model.predict(judged.history, judged.target) - judged.target.values
    each = errors**2 if error == "squared" else np.abs(errors)
    users = judged.target.user_of_rating()
    counts = np.bincount(users, minlength=judged.target.n_users)
    means = np.bincount(users, each, minlength=len(counts)) / np.maximum(counts, 1)
    assert np.any(means > bound)
    assert released == pytest.approx(np.minimum(means, bound).sum(), rel=1e-4)


@pytest.mark.parametrize("error", ["squared", "absolute"])
def test_the_private_figure_is_near_and_priced(parts, error):
    model = FoldIn(np.zeros((80, 0), np.float32), Centring(3.5, mean_ridge=1.0))
    figure = private_error(model, parts[1], epsilon=20.0, delta=1e-5, error=error)
    exact = private_error(model, parts[1], epsilon=math.inf, error=error)
    assert figure.statement.epsilon <= 20.0
    assert [release.name for release in figure.statement.releases] == ["error.sum"]
    assert figure.statement.private
    assert not exact.statement.private
    power = 2 if error == "squared" else 1
    assert 0 < figure.noise < 0.1
    assert abs(figure.value**power - exact.value**power) < 6 * figure.noise
    n_users = parts[1].target.n_users
    assert figure.noise == pytest.approx(figure.statement.releases[0].std / n_users)


def test_private_figures_refuse_bad_budgets(parts):
    model = FoldIn(np.zeros((80, 0), np.float32))
    with pytest.raises(ValueError, match="epsilon must be"):
        private_error(model, parts[1], epsilon=0.0)
    with pytest.raises(ValueError, match="delta must be"):
        private_error(model, parts[1], epsilon=1.0, delta=2.0)
