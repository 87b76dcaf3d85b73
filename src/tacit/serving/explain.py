# SPDX-License-Identifier: Apache-2.0
"""Which of a user's ratings carry a prediction, and which items are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.folding import FoldIn
    from tacit.serving.known import Known


def shares(fold_in: FoldIn, known: Known, item: int) -> NDArray[np.float64]:
    """What each rating of one user adds to the product of her factors and the item's.

    Her factors are A^-1 V^T t with A = V^T V + prior + ridge I over the rows V of her rated items
    and targets t, so the product with v is the sum over her ratings of t_j (v_j . A^-1 v). Where
    she takes another step, its `influence` stands for A^-1 V^T.
    """
    targets, v = fold_in.centring.targets(known), fold_in.item_factors[item].astype(np.float64)
    if fold_in.step is not None:
        influence = fold_in.step.influence(fold_in.item_factors, known, targets)
        each: NDArray[np.float64] = targets * (v @ influence)
        return each
    V = fold_in.item_factors[known.items].astype(np.float64)
    A = V.T @ V + fold_in.prior
    A[np.diag_indices(fold_in.rank)] += float(fold_in.ridges(known)[0])
    return targets * (V @ np.linalg.solve(A, v))


def similarities(fold_in: FoldIn, item: int) -> NDArray[np.float64]:
    """Cosine of an item's factors with every item's; minus infinity where one has none."""
    V = fold_in.item_factors.astype(np.float64)
    if fold_in.step is not None and fold_in.step.beside:
        V = V[:, : -fold_in.step.beside]
    norms = np.linalg.norm(V, axis=1)
    if fold_in.rank == 0:
        raise ValueError(
            "this model has rank 0: without item factors no items are similar; train one with a "
            "rank above 0"
        )
    if norms[item] == 0:
        raise ValueError("nothing is known of this item but its offset: its factors are zero")
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = (V @ V[item]) / (norms * norms[item])
    return np.where(norms > 0, cosines, -np.inf)


def highest(scores: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Positions of the n highest finite scores, best first; equal ones in catalogue order."""
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > -np.inf][:n]
