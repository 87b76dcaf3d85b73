# SPDX-License-Identifier: Apache-2.0
"""A model that nobody trained, and histories that fit it."""

from __future__ import annotations

import numpy as np

from tacit.accounting.release import Release
from tacit.accounting.statement import PrivacyStatement
from tacit.folding import Centring, FoldIn
from tacit.model.item_model import ItemModel

STATEMENT = PrivacyStatement.of(
    (Release("offsets.sum", 1.0, 4.0, times=2, size=4),),
    delta=1e-6,
    n_users=1000,
    public=("item catalogue: made up",),
    not_covered=(),
    noise_source="a test",
    relative_error=0.0,
    version="0",
)


def explicit(items=60, rank=5, *, text=True, titles=None, seed=1) -> ItemModel:
    """Ratings from 1 to 5."""
    rng = np.random.default_rng(seed)
    V = rng.normal(0, 0.5, (items, rank)).astype(np.float32)
    folding = FoldIn(V, Centring(rng.normal(3, 0.5, items), mean_ridge=2.0), 0.7, ridge_power=0.5)
    return ItemModel(_ids(items, text=text), folding, (1.0, 5.0), STATEMENT, titles)


def implicit(items=60, rank=5, *, text=True, seed=1) -> ItemModel:
    """What is there counts 1, what is not there weighs a little."""
    V = np.random.default_rng(seed).normal(0, 0.5, (items, rank)).astype(np.float32)
    folding = FoldIn(V, ridge=0.7, unobserved=0.05)
    return ItemModel(_ids(items, text=text), folding, (0.0, 1.0), STATEMENT)


def _ids(items, *, text):
    if text:
        return np.array([f"film {j}" for j in range(items)], np.object_)
    return np.arange(items, dtype=np.int64) * 3 - 20


def histories(model: ItemModel, users=20, seed=2) -> list[dict]:
    """Some users' ratings in an order of their own; the first has none."""
    rng = np.random.default_rng(seed)
    low, high = model.scale
    ids = model.item_ids.tolist()
    sizes = [0, *rng.integers(1, len(ids) // 2, users - 1).tolist()]
    return [
        {ids[j]: float(rng.integers(low, high + 1)) for j in rng.permutation(len(ids))[:size]}
        for size in sizes
    ]
