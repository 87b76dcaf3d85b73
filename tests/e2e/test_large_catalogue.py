# SPDX-License-Identifier: Apache-2.0
"""Many items: training holds some arrays as large as the factors, and nothing larger."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import tacit


@pytest.mark.parametrize(
    ("items", "rank"), [(200_000, 16), pytest.param(1_000_000, 32, marks=pytest.mark.nightly)]
)
def test_a_large_catalogue_shares_one_gram_matrix(items, rank, tmp_path):
    users, each = 3_000, 20
    item = np.arange(users * each) * 7919 % items
    table = pa.table(
        {
            "user": np.repeat(np.arange(users), each),
            "item": item,
            "rating": np.tile(np.arange(1.0, 6.0), users * each // 5),
        }
    )
    ratings = tacit.read(table, items=range(items), scale=(1, 5), stream=True)
    tracemalloc.start()
    try:
        solver = tacit.ALS(rank=rank, steps=2)
        model = tacit.fit(ratings, solver, epsilon=50.0, delta=1e-5, threads=2).model
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    gradient = items * rank * 8
    assert model.item_factors.shape == (items, rank)
    assert np.ptp(model.item_factors[:, 1]) > 0
    # Two accumulators, answer and noise, the factors of two steps; a Gram for each item would be
    # (rank + 1) / 2 of them for each thread.
    assert peak < 8 * gradient + 60 * items, peak / gradient
