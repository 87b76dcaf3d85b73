# SPDX-License-Identifier: Apache-2.0
"""RMSE, MAE, recall@k, NDCG@k and coverage, over all items and by popularity.

Raw: computed on the ratings themselves, so no privacy statement covers any of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.evaluation.buckets import BUCKETS, popularity_buckets
from tacit.evaluation.ranking import best_items, predictions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.evaluation.trials import Trial
    from tacit.folding import FoldIn

Figures = dict[str, float]


def judge(fold_in: FoldIn, trial: Trial, *, k: int = 20) -> Figures:
    """Every figure by its name; "rmse.head" is the RMSE over the items of the head, and so on.

    Predictions are cut to the scale before errors are taken. A figure over nothing is NaN.
    """
    bucket = popularity_buckets(trial.popularity)
    predicted = predictions(fold_in, trial.history, trial.target)
    errors = np.clip(predicted, *trial.scale) - trial.target.values
    best = best_items(fold_in, trial.history, k)
    figures = rating_figures(errors) | ranking_figures(best, trial.target)
    for number, name in enumerate(BUCKETS):
        inside = bucket == number
        some = rating_figures(errors[inside[trial.target.items]])
        some |= ranking_figures(best, trial.target, among=inside)
        figures |= {f"{figure}.{name}": value for figure, value in some.items()}
    return figures


def rating_figures(errors: NDArray[np.float64]) -> Figures:
    """Root mean square and mean absolute error over ratings."""
    if not len(errors):
        return {"rmse": np.nan, "mae": np.nan}
    return {
        "rmse": float(np.sqrt(np.mean(errors * errors))),
        "mae": float(np.mean(np.abs(errors))),
    }


def ranking_figures(
    best: NDArray[np.int32], target: UserBlock, *, among: NDArray[np.bool_] | None = None
) -> Figures:
    """Recall, NDCG and coverage of each user's list `best`; every row of `target` is relevant.

    Recall@k is hits / min(k, targets), as paper 003 D.1; NDCG@k has gain 1 and discount
    1 / log2(1 + place), over the best that so many targets allow. Both are means over the users
    with a target. Coverage@k is the share of items that stand in at least one list.

    among: of these items only; lists keep their places.
    """
    k = best.shape[1]
    inside = np.ones(target.n_items, bool) if among is None else among
    wanted = np.bincount(
        target.user_of_rating()[inside[target.items]], minlength=target.n_users
    ).astype(np.int64)
    hits = _hits(best, target) & inside[best]
    asked = wanted > 0
    possible = np.minimum(wanted[asked], k)
    discount = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.cumsum(discount)[possible - 1]
    shown = np.zeros(target.n_items, bool)
    shown[best[best >= 0]] = True
    return {
        f"recall@{k}": _mean(hits.sum(axis=1)[asked] / possible),
        f"ndcg@{k}": _mean((hits @ discount)[asked] / ideal),
        f"coverage@{k}": _mean(shown[inside]),
    }


def _hits(best: NDArray[np.int32], target: UserBlock) -> NDArray[np.bool_]:
    """Which places of which lists hold a target; the -1 of short lists never does."""
    users = np.arange(target.n_users)[:, None]
    listed = users * target.n_items + best
    wanted = target.user_of_rating() * target.n_items + target.items
    return np.isin(listed, wanted) & (best >= 0)


def _mean(values: NDArray[np.floating] | NDArray[np.bool_]) -> float:
    return float(np.mean(values)) if len(values) else np.nan
