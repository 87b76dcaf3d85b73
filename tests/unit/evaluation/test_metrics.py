# SPDX-License-Identifier: Apache-2.0
"""Figures by hand on tiny cases, and against a twin that takes one user at a time."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from tacit.data.block import UserBlock
from tacit.evaluation.buckets import BUCKETS, popularity_buckets
from tacit.evaluation.metrics import judge, ranking_figures, rating_figures
from tacit.evaluation.ranking import best_items
from tacit.evaluation.trials import Trial
from tacit.folding import Centring, FoldIn

_spec = importlib.util.spec_from_file_location(
    "brute_force", Path(__file__).with_name("brute_force.py")
)
brute_force = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(brute_force)


def block(rows, n_items):
    rows = [sorted(row) for row in rows]
    indptr = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
    pairs = [pair for row in rows for pair in row]
    items = np.array([item for item, _ in pairs], np.int32)
    return UserBlock(indptr, items, np.array([v for _, v in pairs], np.float32), n_items)


def asked(rows, n_items):
    return block([[(item, 1.0) for item in row] for row in rows], n_items)


def ranked_by(offsets):
    """A model that ranks by these numbers."""
    return FoldIn(np.zeros((len(offsets), 0), np.float32), Centring(np.array(offsets, float)))


def random_trial(rng, n_users=60, n_items=25):
    rows = [rng.permutation(n_items)[: rng.integers(0, 12)] for _ in range(n_users)]
    values = [rng.integers(1, 6, len(row)) for row in rows]
    cut = [rng.integers(0, len(row) + 1) for row in rows]
    pairs = [
        list(zip(r.tolist(), v.tolist(), strict=True)) for r, v in zip(rows, values, strict=True)
    ]
    past = block([p[:c] for p, c in zip(pairs, cut, strict=True)], n_items)
    target = block([p[c:] for p, c in zip(pairs, cut, strict=True)], n_items)
    popularity = np.bincount(past.items, minlength=n_items)
    return Trial(past, target, popularity, (1.0, 5.0))


def test_errors_by_hand():
    figures = rating_figures(np.array([3.0, -4.0]))
    assert figures == {"rmse": pytest.approx(math.sqrt(12.5)), "mae": 3.5}


def test_recall_divides_by_the_smaller_of_k_and_targets():
    """Paper 003 D.1: three targets and k = 2 allow two hits; one target allows one."""
    best = np.array([[0, 1], [2, 3], [0, 4]], np.int32)
    target = asked([[0, 1, 2], [3], [1, 2]], 5)
    figures = ranking_figures(best, target)
    assert figures["recall@2"] == pytest.approx((2 / 2 + 1 / 1 + 0) / 3)
    second = 1 / math.log2(3)
    assert figures["ndcg@2"] == pytest.approx((1 + second + 0) / 3)
    assert figures["coverage@2"] == 1.0


def test_users_without_a_target_do_not_count():
    best = np.array([[0, 1], [0, 1]], np.int32)
    assert ranking_figures(best, asked([[0], []], 4))["recall@2"] == 1.0
    nobody = ranking_figures(best, asked([[], []], 4))
    assert math.isnan(nobody["recall@2"])
    assert nobody["coverage@2"] == 0.5


def test_the_end_of_a_short_list_is_no_hit():
    """-1 must not be read as the last item."""
    figures = ranking_figures(np.array([[0, -1]], np.int32), asked([[3]], 4))
    assert figures["recall@2"] == 0.0
    assert figures["coverage@2"] == 0.25
    other = ranking_figures(np.array([[-1, -1], [0, 1]], np.int32), asked([[], [3]], 4))
    assert other["recall@2"] == 0.0


def test_lists_leave_out_history_and_break_ties_by_catalogue():
    model = ranked_by([1.0, 3.0, 3.0, 2.0, 3.0])
    history = asked([[], [1], [0, 1, 2, 4], [0, 1, 2, 3, 4]], 5)
    expected = [[1, 2, 4], [2, 4, 3], [3, -1, -1], [-1, -1, -1]]
    assert best_items(model, history, 3).tolist() == expected
    assert best_items(model, history, 9)[1].tolist() == [2, 4, 3, 0, -1, -1, -1, -1, -1]


def test_predictions_are_cut_to_the_scale():
    model = ranked_by([9.0, -9.0])
    trial = Trial(asked([[]], 2), block([[(0, 5.0), (1, 1.0)]], 2), np.ones(2, np.int64), (1, 5))
    assert judge(model, trial, k=1)["rmse"] == 0.0


@pytest.mark.parametrize("unobserved", [0.0, 0.1])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_the_twin_agrees(rng, k, unobserved):
    trial = random_trial(rng)
    V = rng.standard_normal((25, 3)).astype(np.float32)
    centring = Centring(rng.normal(3, 1, 25), mean_ridge=2.0)
    model = FoldIn(V, centring, ridge=2.0, ridge_power=0.5, unobserved=unobserved)
    figures = judge(model, trial, k=k)
    bucket = popularity_buckets(trial.popularity)
    expected = brute_force.figures(model, trial, k, set(range(25)))
    for number, name in enumerate(BUCKETS):
        some = brute_force.figures(model, trial, k, set(np.flatnonzero(bucket == number).tolist()))
        expected |= {f"{figure}.{name}": value for figure, value in some.items()}
    assert figures.keys() == expected.keys()
    for name, value in figures.items():
        assert value == pytest.approx(expected[name], abs=1e-5, nan_ok=True), name


def test_buckets_have_a_third_of_the_ratings_each():
    popularity = np.array([0, 10, 1, 30, 9, 10, 0])
    # Sorted: 30 (middle of its ratings at 15 of 60), 10 and 10 (35, 45), 9 (54.5), 1, 0, 0.
    assert popularity_buckets(popularity).tolist() == [2, 1, 2, 0, 2, 2, 2]
    assert popularity_buckets(np.zeros(3, np.int64)).tolist() == [2, 2, 2]


def test_no_users_and_k_below_one():
    empty = asked([], 4)
    assert best_items(ranked_by([0.0] * 4), empty, 2).shape == (0, 2)
    with pytest.raises(ValueError, match="k must be"):
        best_items(ranked_by([0.0] * 4), empty, 0)
