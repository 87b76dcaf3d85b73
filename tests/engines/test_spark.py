# SPDX-License-Identifier: Apache-2.0
"""Sums on Spark are those of one thread, for any number of partitions; rows stay on the cluster."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.contributions import REGISTRY, Contribution
from tacit.data.errors import DataError
from tacit.data.spark import SparkRows
from tacit.data.spark_blocks import Encoded
from tacit.engines.local import LocalThreads
from tacit.engines.shards import Sizes
from tacit.engines.spark import SparkEngine
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import NoiseSource, SeededSource
from tacit.solvers import SOLVERS
from tacit.training import Budget, Execution, calibrated_plan, train

from ..property.examples import examples, n_items_of  # noqa: TID252 - as the registry tests

pytestmark = pytest.mark.xdist_group("spark")

N_ITEMS = 60
EXAMPLES = examples(N_ITEMS)
CANARY = "quartz-zebra"


def table(n_users=80, n_items=N_ITEMS, seed=5):
    """Ratings in no order, so that users are split over partitions; ids are strings."""
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
BUDGET = Budget(200.0, 1e-3)
LATE = pytest.mark.nightly


def on(spark, rows=ROWS, *, partitions=2, **keywords):
    spark.conf.set("spark.tacit.partitions", str(partitions))
    try:
        return tacit.read(spark.createDataFrame(rows), **keywords)
    finally:
        spark.conf.unset("spark.tacit.partitions")


@pytest.fixture(scope="module")
def local():
    return tacit.read(ROWS, **KEYWORDS)


@pytest.fixture(scope="module")
def ratings(spark):
    return on(spark, partitions=3, **KEYWORDS)


def one_thread(ratings):
    return LocalThreads(ratings.block, threads=1)


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


class Recording(LocalThreads):
    """Keeps what it is asked for."""

    def __init__(self, block):
        super().__init__(block, threads=1)
        self.asked = []

    def total(self, contribution):
        self.asked.append(contribution)
        return super().total(contribution)


def asked_by(solver, ratings):
    """The first and the last of each kind of sum that a training asks for."""
    scale = (ratings.scale.low, ratings.scale.high)
    public, plan = calibrated_plan(
        solver, n_users=ratings.n_users, n_items=N_ITEMS, scale=scale, budget=BUDGET
    )
    engine = Recording(ratings.block)
    solver.fit(DataCurator(engine, public, plan, SeededSource(3)))
    found = {}
    for contribution in engine.asked:
        found.setdefault(type(contribution), []).append(contribution)
    return [each for several in found.values() for each in (several[0], several[-1])]


class Together(Contribution):
    """Several contributions as one, so that Spark is asked once for all of them."""

    def __init__(self, several):
        self.several = several

    @property
    def parts(self):
        return tuple(
            replace(part, name=f"{n}.{part.name}")
            for n, each in enumerate(self.several)
            for part in each.parts
        )

    def add(self, block, sums):
        for n, each in enumerate(self.several):
            each.add(block, {part.name: sums[f"{n}.{part.name}"] for part in each.parts})


def spread(spark, block, partitions):
    """The rows of a block over so many partitions."""
    blocks = [Encoded("", each) for each in block.split(len(block.items) // 20)]
    encoded = spark.sparkContext.parallelize(blocks, partitions)
    return SparkRows(encoded, block.n_users, block.n_items, personal=False)


@pytest.fixture(scope="module")
def everything(local):
    """What every solver asks for, every contribution there is, and their sums here."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    several = [each for name in sorted(SOLVERS) for each in asked_by(SOLVERS[name](), local)]
    several += [
        each for instances in EXAMPLES.values() for each in instances if n_items_of(each) == N_ITEMS
    ]
    together = Together(several)
    return together, one_thread(local).total(together)


@pytest.mark.parametrize(
    "partitions", [n if n in (1, 3, 8) else pytest.param(n, marks=LATE) for n in range(1, 9)]
)
def test_every_solver_gets_the_sums_of_one_thread(spark, local, everything, partitions):
    together, expected = everything
    rows = spread(spark, local.block, partitions)
    assert rows.encoded.getNumPartitions() == partitions
    assert same(SparkEngine(rows).total(together), expected)


@pytest.mark.parametrize("partitions", [1, pytest.param(8, marks=LATE)])
def test_rows_that_spark_reads_are_summed_as_those_read_here(spark, local, partitions):
    found = on(spark, partitions=partitions, **KEYWORDS)
    assert found.rows.encoded.getNumPartitions() == partitions
    contribution = EXAMPLES["GramAndGradient"][0]
    assert same(SparkEngine(found.rows).total(contribution), one_thread(local).total(contribution))
    found.rows.unpersist()


@pytest.mark.parametrize("fan_in", [2, pytest.param(3, marks=LATE), pytest.param(5, marks=LATE)])
def test_shards_added_up_in_a_tree_give_the_same(spark, local, fan_in):
    """With so small a shard and so impatient a driver every sum takes every way there is."""
    rows = spread(spark, local.block, 5)
    engine = SparkEngine(rows, sizes=Sizes(50, 20, 1), direct=1, fan_in=fan_in)
    contribution = EXAMPLES["ItemGramsAndGradient"][0]
    assert same(engine.total(contribution), one_thread(local).total(contribution))


def test_large_sums_come_one_task_after_the_other(ratings, local, monkeypatch):
    monkeypatch.setattr("tacit.engines.spark.AT_ONCE", 1)
    contribution = EXAMPLES["GramAndGradient"][0]
    total = SparkEngine(ratings.rows, sizes=Sizes(100, 30)).total(contribution)
    assert same(total, one_thread(local).total(contribution))


@pytest.mark.parametrize(
    "name", [n if n == "als" else pytest.param(n, marks=LATE) for n in sorted(SOLVERS)]
)
def test_training_gives_the_same_model_and_statement(name, ratings, local):
    made = [
        train(each, SOLVERS[name](), BUDGET, Execution(source=SeededSource(3)))
        for each in (ratings, local)
    ]
    one, other = (fit.model.folding for fit in made)
    np.testing.assert_array_equal(one.item_factors, other.item_factors)
    np.testing.assert_array_equal(one.centring.offsets, other.centring.offsets)
    assert str(made[0].statement) == str(made[1].statement)
    np.testing.assert_array_equal(made[0].model.item_ids, made[1].model.item_ids)


def test_a_data_frame_can_be_fitted_and_answered_as_it_is(spark):
    frame = spark.createDataFrame(ROWS)
    spark.conf.set("spark.tacit.partitions", "2")
    model = tacit.fit(frame, tacit.ItemOffsets(), epsilon=50.0, delta=1e-3).model
    lists = tacit.recommend_frame(model, frame, 4).toArrow().sort_by([("user", "ascending")])
    expected = model.recommend(ROWS, 4).to_arrow().sort_by([("user", "ascending")])
    key = [("user", "ascending"), ("rank", "ascending")]
    assert lists.sort_by(key).equals(expected.sort_by(key))


def test_what_the_reader_does_is_what_the_local_reader_does(spark):
    """Ids of the rows themselves, text for numbers, the last of repeated rows, levels, clipping."""
    rows = pa.table(
        {
            "user": ["b", "a", "b", "b", "c", "a"],
            "item": ["y", "x", "y", "z", "é", "x"],
            "rating": ["4", "0.5", "7.5", "3", "2", "1"],
            "timestamp": [5, 1, 9, 2, 3, 0],
            "privacy": pa.array([None, 0.25, 0.5, None, None, None]),
        }
    )
    keywords = {
        "duplicates": "last",
        "scale": (0.5, 5),
        "out_of_scale": "clip",
        "privacy": "privacy",
    }
    near, far = tacit.read(rows, **keywords), on(spark, rows, **keywords)
    assert far.catalogue.ids.tolist() == near.catalogue.ids.tolist()
    assert (far.n_users, far.personal, far.scale) == (near.n_users, near.personal, near.scale)
    rows_of = {
        (b.items[s:e].tobytes(), b.values[s:e].tobytes(), float(w))
        for b in (one.block for one in far.rows.encoded.collect())
        for s, e, w in zip(b.indptr[:-1], b.indptr[1:], b.levels, strict=True)
    }
    b = near.block
    assert rows_of == {
        (b.items[s:e].tobytes(), b.values[s:e].tobytes(), float(w))
        for s, e, w in zip(b.indptr[:-1], b.indptr[1:], b.levels, strict=True)
    }


def test_a_user_whose_rows_are_all_left_out_stays(spark):
    keywords = {"items": list(range(5)), "unknown_items": "drop", "scale": (0.5, 5)}
    assert on(spark, **keywords).n_users == tacit.read(ROWS, **keywords).n_users == 80


def test_nothing_private_is_shown(ratings):
    assert repr(ratings) == "Ratings(users=80, items=60, scale=0.5 to 5, <private rows>)"
    assert repr(ratings.rows) == "SparkRows(n_items=60, <private rows>)"
    with pytest.raises(DataError, match="do not lie in memory"):
        _ = ratings.block


def test_an_error_on_an_executor_is_told_without_its_words(ratings, capfd):
    from pyspark import cloudpickle

    class Broken(REGISTRY["ItemCounts"]):
        def add(self, block, sums):
            raise KeyError(CANARY)

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    broken = Broken(N_ITEMS, EXAMPLES["ItemCounts"][0].rows)
    (part,) = broken.parts
    release = Release.share(
        f"x.{part.name}", l2=part.l2, share=1.0, times=1, size=part.size, cone=part.cone
    )
    plan = calibrate(Plan((release,)), 1.0, 1e-5)
    curator = DataCurator(
        SparkEngine(ratings.rows), Public(80, N_ITEMS, 0.5, 5, 1.0), plan, NoiseSource()
    )
    with pytest.raises(SumError, match="counts as spent") as caught:
        curator.noisy_sum(broken, "x")
    assert CANARY not in str(caught.value)
    assert CANARY not in "".join(capfd.readouterr())
    assert len(curator.ledger.releases) == 1


BAD = {
    "no user column": (ROWS.rename_columns(["x", "item", "rating"]), {}, "no user column"),
    "no rows": (ROWS.slice(0, 0), {}, "has no rows"),
    "a missing user": ({"user": [None, "b", "c"]}, {}, r"\(user\): a row has no value"),
    "a missing rating": ({"rating": [None, 2.0, 3.0]}, {}, r"\(rating\): a row has no value"),
    "NaN": ({"rating": [np.nan, 2.0, 3.0]}, {}, "is NaN or infinite"),
    "a word": ({"rating": ["1", CANARY, "3"]}, {}, "is not a number"),
    "fractions for ids": ({"user": [0.5, 1.0, 2.0]}, {}, "has type DOUBLE, but ids are"),
    "no usual scale": ({"rating": [-5e6, 1.0, 2.0]}, {}, "none of the usual scales"),
    "outside the scale": ({"rating": [9.0, 1.0, 2.0]}, {"scale": (1, 5)}, "outside the declared"),
    "an unknown item": ({}, {"items": ["x"]}, "is not in the catalogue"),
    "no known item": ({}, {"items": ["p"], "unknown_items": "drop"}, "none of the rated items"),
    "turned over": ({}, {"items": ["a", "b", "c", "d"]}, "orientation looks wrong"),
    "another type of ids": ({}, {"items": [1, 2]}, "ids that differ only by type"),
    "a repeated pair": ({"user": ["a", "a", "b"]}, {}, "repeats the user and item"),
    "one user": ({"user": ["a"] * 3, "item": ["x", "y", "z"]}, {}, "one user only"),
    "epsilons": ({}, {"privacy_unit": "epsilon"}, "not there for Spark"),
    "partitions": ({}, {"partitions": "few"}, "must be a whole number"),
}
SOON = ("no user column", "a word", "an unknown item", "a repeated pair")


@pytest.mark.parametrize(
    "case", [name if name in SOON else pytest.param(name, marks=LATE) for name in BAD]
)
def test_bad_rows_are_refused_without_a_word_of_theirs(spark, case, capfd):
    rows, keywords, said = BAD[case]
    if isinstance(rows, dict):
        good = {"user": ["a", "b", "c"], "item": ["x", "x", "y"], "rating": [1.0, 2.0, 3.0]}
        rows = pa.table(good | rows)
    with pytest.raises(DataError, match=said) as caught:
        on(spark, rows, **keywords)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None
    assert CANARY not in "".join(capfd.readouterr())


def test_an_old_session_and_spark_connect_are_refused():
    class DataFrame:
        """What an old PySpark's frame looks like from outside."""

        columns = ("user", "item", "rating")
        sparkSession = SimpleNamespace(version="3.5.1")  # noqa: N815 (Spark's name)
        mapInArrow = None  # noqa: N815

    DataFrame.__module__ = "pyspark.sql.dataframe"
    with pytest.raises(DataError, match="Spark 4 or newer is needed, and this session is"):
        tacit.read(DataFrame())
    DataFrame.__module__ = "pyspark.sql.connect.dataframe"
    with pytest.raises(DataError, match="Spark Connect"):
        tacit.read(DataFrame())
