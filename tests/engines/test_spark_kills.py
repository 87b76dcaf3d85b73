# SPDX-License-Identifier: Apache-2.0
"""Executors and drivers that are killed: sums stay the same, and what is spent stays spent.

Each test has an application of its own, because it ends badly.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tacit.data.errors import DataError
from tacit.data.spark_session import check_java, check_pyspark

pytestmark = pytest.mark.xdist_group("spark")

BEGINNING = """
import dataclasses, os, pathlib, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pyarrow as pa
import tacit
from pyspark import cloudpickle
from tacit.contributions import ItemCounts, Rows
from tacit.data.spark import SparkRows
from tacit.data.spark_blocks import Encoded
from tacit.data.spark_session import session
from tacit.engines.local import LocalThreads
from tacit.engines.spark import SparkEngine
from tacit.mechanisms.entropy import NoiseSource
from tacit.training import Budget, Execution, train

cloudpickle.register_pickle_by_value(sys.modules["__main__"])
rng = np.random.default_rng(1)
users = np.repeat(np.arange(60), 12)
items = np.concatenate([rng.permutation(40)[:12] for _ in range(60)])
table = pa.table({"user": users, "item": items, "rating": rng.integers(1, 6, 720) / 1.0})
near = tacit.read(table, items=list(range(40)), scale=(1, 5))


# The rows on the executors, as reading leaves them.
def spread(spark, partitions):
    blocks = [Encoded("", each) for each in near.block.split(50)]
    encoded = spark.sparkContext.parallelize(blocks, partitions).persist()
    assert encoded.count() == len(blocks)
    return SparkRows(encoded, near.n_users, near.n_items, personal=False)


marker = pathlib.Path(sys.argv[1])
quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""

EXECUTOR = (
    BEGINNING
    + """
class Killing(ItemCounts):
    def add(self, block, sums):
        ItemCounts.add(self, block, sums)
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return
        executor = os.getppid()  # the daemon of the workers; its parent is the executor
        with open(f"/proc/{executor}/stat") as stat:
            executor = int(stat.read().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)

    __reduce__ = lambda self: (type(self), (self.n_items, self.rows))

settings = {
    "spark.executor.memory": "600m",
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": quick,
    "spark.executor.extraJavaOptions": quick,
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    "spark.speculation": "true",
}
with session("local-cluster[2,1,600]", settings) as spark:
    found = spread(spark, 4)
    contribution = Killing(40, Rows(1.0, weighting="ones", item_limit=7))
    total = SparkEngine(found).total(contribution)
assert marker.exists(), "nothing was killed"
expected = LocalThreads(near.block, threads=1).total(ItemCounts(40, contribution.rows))
assert expected["count"].any()
assert np.array_equal(total["count"], expected["count"])
print("equal")
"""
)

DRIVER = (
    BEGINNING
    + """
class Killed(SparkEngine):
    def total(self, contribution):
        SparkEngine.total(self, contribution)
        os.kill(os.getpid(), signal.SIGKILL)

import tacit.training
tacit.training.SparkEngine = Killed
settings = {"spark.driver.memory": "600m", "spark.driver.extraJavaOptions": quick}
with session("local[1]", settings) as spark:
    found = dataclasses.replace(near, rows=spread(spark, 2))
    train(found, tacit.ItemOffsets(), Budget(1.0, 1e-3), Execution(journal=marker))
"""
)


def run(script, marker):
    try:
        check_pyspark()
        check_java()
    except DataError as error:
        pytest.skip(f"no Spark here: {error}")
    import pyspark

    home = {"SPARK_HOME": os.path.dirname(pyspark.__file__)}  # noqa: PTH120
    return subprocess.run(
        [sys.executable, "-c", script, str(marker)],
        env=os.environ | home,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )


def test_an_executor_killed_in_the_middle_of_a_step_changes_no_sum(tmp_path):
    done = run(EXECUTOR, tmp_path / "killed")
    assert done.stdout.strip().endswith("equal"), done.stderr[-3000:]


def test_a_driver_killed_after_a_spend_leaves_it_recorded(tmp_path):
    done = run(DRIVER, tmp_path / "journal")
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    lines = [json.loads(each) for each in (tmp_path / "journal").read_text().splitlines()]
    assert [line["release"] for line in lines] == ["counts.count"]  # added up, never released
    assert lines[0]["mu2"] > 0
