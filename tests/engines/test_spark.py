# SPDX-License-Identifier: Apache-2.0
"""Sums on Spark are those of one thread, for any number of partitions; rows stay on the cluster."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.contributions import REGISTRY
from tacit.data.spark import SparkRows
from tacit.engines.local import LocalThreads
from tacit.engines.spark import SparkEngine
from tacit.solvers import SOLVERS
from tacit.training import Budget, Execution, train

from ..property.examples import examples, n_items_of  # noqa: TID252 - as the registry tests

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

N_ITEMS = 60
EXAMPLES = examples(N_ITEMS)


def table(n_users=80, n_items=N_ITEMS, seed=5):
    """Ratings in no order, with user ids that are strings."""
    rng = np.random.default_rng(seed)
    sizes = [1, n_items, *rng.integers(1, n_items, n_users - 2)]
    users = np.repeat(np.arange(n_users), sizes)
    items = np.concatenate([rng.permutation(n_items)[:size] for size in sizes])
    order = rng.permutation(len(users))
    names = np.array([f"user-{n:03}" for n in range(n_users)], object)
    return pa.table(
        {
            "user": names[users[order]],
            "item": items[order],
            "rating": (rng.integers(2, 11, len(users)) / 2).astype(np.float32),
        }
    )


ROWS = table()
KEYWORDS = {"items": list(range(N_ITEMS)), "scale": (0.5, 5)}


@pytest.fixture(scope="module")
def local():
    return tacit.read(ROWS, **KEYWORDS)


def on(spark, partitions, rows=ROWS, **keywords):
    spark.conf.set("spark.tacit.partitions", str(partitions))
    return tacit.read(spark.createDataFrame(rows), **(KEYWORDS | keywords))


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize("partitions", [3, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 4, 5, 6, 7, 8))])
def test_sums_are_those_of_one_thread(spark, local, partitions):
    ratings = on(spark, partitions)
    assert (ratings.n_users, ratings.n_items) == (local.n_users, local.n_items)
    engine = SparkEngine(ratings.rows)
    for name in sorted(REGISTRY):
        for contribution in EXAMPLES[name][:1]:
            assert n_items_of(contribution) == N_ITEMS
            expected = LocalThreads(local.block, threads=1).total(contribution)
            assert same(engine.total(contribution), expected), name
    ratings.rows.unpersist()
