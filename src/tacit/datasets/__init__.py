# SPDX-License-Identifier: Apache-2.0
"""Made-up ratings: the shape of MovieLens at any size, and the synthetic data of the papers."""

from tacit.datasets.experiment import Experiment
from tacit.datasets.movielens import movielens_blocks, movielens_like
from tacit.datasets.papers import dpals_synthetic, dplmc_synthetic, rank_one
from tacit.datasets.parquet_files import write_parquet

__all__ = [
    "Experiment",
    "dpals_synthetic",
    "dplmc_synthetic",
    "movielens_blocks",
    "movielens_like",
    "rank_one",
    "write_parquet",
]
