# SPDX-License-Identifier: Apache-2.0
"""One Spark session for all tests of a run that need one."""

from __future__ import annotations

import pytest

from tacit.data.errors import DataError
from tacit.data.spark_session import check_java, check_pyspark, session


@pytest.fixture(scope="session")
def spark():
    try:
        check_pyspark()
        check_java()
    except DataError as error:
        pytest.skip(f"no Spark here: {error}")
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        # No time for Java's second compiler: a third less of the processor.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with session("local[2]", settings) as made:
        yield made
