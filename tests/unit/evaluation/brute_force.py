# SPDX-License-Identifier: Apache-2.0
"""The figures of `tacit.evaluation`, one user and one item at a time."""

from __future__ import annotations

import math

import numpy as np

from tacit.data.block import UserBlock


def user_rows(block, user):
    rows = block.rows(user, user + 1)
    return rows.items.tolist(), rows.values.tolist()


def scores(fold_in, history, user):
    """The prediction for every item."""
    m = history.n_items
    every = UserBlock(np.array([0, m]), np.arange(m, dtype=np.int32), np.zeros(m, np.float32), m)
    return fold_in.predict(history.rows(user, user + 1), every)


def best(fold_in, history, user, k):
    seen = set(user_rows(history, user)[0])
    predicted = scores(fold_in, history, user)
    left = [item for item in range(history.n_items) if item not in seen]
    return sorted(left, key=lambda item: (-predicted[item], item))[:k]


def figures(fold_in, trial, k, among):
    errors, recalls, gains, shown = [], [], [], set()
    for user in range(trial.target.n_users):
        items, values = user_rows(trial.target, user)
        wanted = [item for item in items if item in among]
        predicted = scores(fold_in, trial.history, user)
        low, high = trial.scale
        errors += [
            min(max(predicted[item], low), high) - value
            for item, value in zip(items, values, strict=True)
            if item in among
        ]
        listed = best(fold_in, trial.history, user, k)
        shown |= set(listed) & among
        if not wanted:
            continue
        hits = [item in wanted for item in listed]
        recalls.append(sum(hits) / min(k, len(wanted)))
        gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
        ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(wanted))))
        gains.append(gain / ideal)
    return {
        "rmse": math.sqrt(sum(e * e for e in errors) / len(errors)) if errors else math.nan,
        "mae": sum(map(abs, errors)) / len(errors) if errors else math.nan,
        f"recall@{k}": np.mean(recalls) if recalls else math.nan,
        f"ndcg@{k}": np.mean(gains) if gains else math.nan,
        f"coverage@{k}": len(shown) / len(among) if among else math.nan,
    }
