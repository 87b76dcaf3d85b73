# SPDX-License-Identifier: Apache-2.0
"""Ratings to try things on: made-up ones in known shapes, and public sets from one's own copy."""

from tacit.datasets.experiment import Experiment
from tacit.datasets.movielens import (
    movielens_blocks,
    movielens_like,
    netflix_blocks,
    netflix_like,
    yahoo_like,
)
from tacit.datasets.papers import dpals_synthetic, dplmc_synthetic, rank_one
from tacit.datasets.parquet_files import write_parquet
from tacit.datasets.public import find, load

__all__ = [
    "Experiment",
    "dpals_synthetic",
    "dplmc_synthetic",
    "find",
    "load",
    "movielens_blocks",
    "movielens_like",
    "netflix_blocks",
    "netflix_like",
    "rank_one",
    "write_parquet",
    "yahoo_like",
]
