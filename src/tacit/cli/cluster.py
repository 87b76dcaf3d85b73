# SPDX-License-Identifier: Apache-2.0
"""Options that choose where rows are worked on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tacit.data.spark_files import parquet
from tacit.data.spark_session import session

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where rows are worked on."""

    engine: Annotated[
        Literal["here", "spark"], typer.Option(help="This machine, or a Spark cluster.")
    ] = "here"
    master: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Of Spark: local[2], spark://host:port, yarn, k8s://..."
        ),
    ] = "local[*]"

    @contextmanager
    def opened(self, source: str) -> Iterator[Any]:
        """The source itself, or a DataFrame of it on a cluster that ends with this."""
        if self.engine == "here":
            yield source
            return
        with session(self.master) as spark:
            yield parquet(spark, source)
