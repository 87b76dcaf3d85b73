# SPDX-License-Identifier: Apache-2.0
"""From a Spark DataFrame to ratings that stay on the cluster: the driver sees public facts only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tacit.data.errors import DataError
from tacit.data.frames import library_of
from tacit.data.ratings import Ratings
from tacit.data.spark_blocks import (
    OTHER_MACHINE,
    REPEATED,
    SCHEMA,
    TIED,
    UNEVEN,
    Encoding,
    decoded,
    machine,
)
from tacit.data.spark_files import check_strict, of_a_file
from tacit.data.spark_items import catalogue_of
from tacit.data.spark_rows import check_rows, settled_scale, timed, typed

if TYPE_CHECKING:
    from tacit.data.catalogue import Scale
    from tacit.data.options import Options
    from tacit.data.rows import Picks

PARTITIONS = "spark.tacit.partitions"
"""A setting of the session: into how many parts users are divided; by default one for each core."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SparkRows:
    """All users' rows, cached on the executors of a Spark application.

    encoded: an RDD of `Encoded`.
    """

    encoded: Any
    n_users: int
    n_items: int
    personal: bool

    def __repr__(self) -> str:
        return f"SparkRows(n_items={self.n_items}, <private rows>)"

    def unpersist(self) -> None:
        """Give back the memory and disk of the executors."""
        self.encoded.unpersist()


def is_frame(source: object) -> bool:
    """Whether it is a DataFrame of Spark, found out without importing PySpark."""
    return library_of(source) == "pyspark" and hasattr(source, "mapInArrow")


def read_frame(frame: Any, options: Options, picks: Picks) -> Ratings:
    """Rows checked, numbered and grouped by user on the cluster, and cached there.

    Raises:
        DataError: as `read`, except that Spark's rows have no numbers that could be named.
    """
    _check_frame(frame, options)
    try:
        return _read(frame, options, picks)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 (Spark's words may quote a row)
        failure = _withheld(error)
    raise failure


def _read(frame: Any, options: Options, picks: Picks) -> Ratings:
    rows = typed(frame, options, picks)
    check_rows(rows, options, picks)
    if "timestamp" in picks:
        rows = timed(rows, picks)
    scale = replace(settled_scale(rows, options, picks), feedback=options.feedback)
    catalogue, numbered = catalogue_of(rows, options)
    encoding = Encoding(len(catalogue), options.duplicates, machine())
    encoded = _grouped(numbered, encoding, _clipped_to(scale, options), _partitions(frame))
    try:
        n_users = _checked(encoded, picks)
    except BaseException:
        encoded.unpersist()
        raise
    where = SparkRows(encoded, n_users, len(catalogue), "privacy" in picks)
    return Ratings(where, None, catalogue, scale)


def _check_frame(frame: Any, options: Options) -> None:
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise DataError(
            "this DataFrame comes through Spark Connect, which cannot cache blocks or broadcast; "
            "use a session of the application itself (classic Spark)"
        )
    found = str(frame.sparkSession.version)
    if int(found.partition(".")[0]) < 4:
        raise DataError(f"Spark 4 or newer is needed, and this session is Spark {found}")
    check_strict(frame.sparkSession)
    if options.query is not None:
        raise DataError("query= goes with a database; give the DataFrame of spark.sql(query)")
    if options.user_axis is not None:
        raise DataError("user_axis= goes with a sparse matrix; name columns by user= and item=")
    if options.privacy_unit == "epsilon":
        raise DataError(
            "privacy_unit='epsilon' is not there for Spark: give levels from 0 to 1 (of a plan, "
            "tacit.accounting.personal turns one into the other)"
        )


def _partitions(frame: Any) -> int:
    session = frame.sparkSession
    wanted = session.conf.get(PARTITIONS, str(session.sparkContext.defaultParallelism))
    if not (wanted.isdigit() and int(wanted) > 0):
        raise DataError(f"{PARTITIONS} must be a whole number of at least 1")
    return int(wanted)


def _clipped_to(scale: Scale, options: Options) -> Scale | None:
    return scale if options.out_of_scale == "clip" else None


def _grouped(numbered: Any, encoding: Encoding, clip: Scale | None, partitions: int) -> Any:
    """Users hashed to partitions, each user's rows together; one block after the other.

    By the hash of her id a user is in the same partition whenever a task runs again.
    """
    from pyspark import StorageLevel  # noqa: PLC0415 (an extra)
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    if clip is not None:
        cut = F.greatest(F.least(F.col("rating"), F.lit(clip.high)), F.lit(clip.low))
        numbered = numbered.withColumn("rating", cut.cast("float"))
    order = ["user", "item"] + (["time", "rating"] if "time" in numbered.columns else [])
    rows = numbered.repartition(partitions, "user").sortWithinPartitions(*order)
    n_items = encoding.n_items
    blocks = rows.mapInArrow(encoding.encoded, SCHEMA)
    return blocks.rdd.map(lambda row: decoded(row, n_items)).persist(StorageLevel.MEMORY_AND_DISK)


def _checked(encoded: Any, picks: Picks) -> int:
    """How many users there are; what an executor found wrong is said here."""
    found = encoded.map(lambda one: ({one.fault}, one.block.n_users))
    faults, n_users = found.treeReduce(lambda a, b: (a[0] | b[0], a[1] + b[1]))
    pair = f"columns {picks['user']!r} and {picks['item']!r}"
    if OTHER_MACHINE in faults:
        release, isa = machine()
        raise DataError(
            f"an executor has another version of tacit or other kernels than the driver ({release},"
            f" {isa}): install the same wheel everywhere, and set TACIT_ISA to the least of all "
            "instruction sets, here and by spark.executorEnv.TACIT_ISA"
        )
    if REPEATED in faults:
        raise DataError(
            f"{pair}: a row repeats the user and item of another row; remove it, or keep the last "
            "by timestamp: duplicates='last'"
        )
    if UNEVEN in faults:
        raise DataError(
            f"column {picks['privacy']!r} (privacy): a row differs from another row of its user; a "
            "user has one level for all of her ratings"
        )
    if TIED in faults:
        raise DataError(
            f"{pair}: a user rated an item twice at the same time, so that neither is the last; "
            "remove one of the two rows"
        )
    if n_users < 2:
        raise DataError(
            "the source has one user only; joint differential privacy hides one user among others: "
            "check which column is the user's"
        )
    return int(n_users)


def _withheld(error: Exception) -> DataError:
    """What went wrong, in our words."""
    if "No module named 'tacit" in str(error):
        return DataError(
            "the executors have no tacit: install the same wheel there (docs/spark.md)"
        )
    return of_a_file(str(error)) or DataError(
        f"the DataFrame could not be read ({type(error).__name__}); the words are withheld because "
        "they may quote a row. Look into it with Spark itself"
    )
