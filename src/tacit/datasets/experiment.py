# SPDX-License-Identifier: Apache-2.0
"""The pieces of a synthetic experiment, and how generated entries become `Ratings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.catalogue import Catalogue, Scale
from tacit.data.ratings import Ratings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """Disjoint ratings of the same users and items, and the matrix they were taken from.

    The truth is `user_factors @ item_factors.T`, without noise. `validation` is None where the
    paper holds none out.
    """

    train: Ratings
    validation: Ratings | None
    test: Ratings
    user_factors: NDArray[np.float64]
    item_factors: NDArray[np.float64]


def assemble(block: UserBlock, scale: Scale) -> Ratings:
    """A block with made-up integer ids, counted from 1."""
    return Ratings(
        rows=block,
        ids=np.arange(1, block.n_users + 1, dtype=np.int64),
        catalogue=Catalogue(np.arange(1, block.n_items + 1, dtype=np.int64), origin="file"),
        scale=scale,
    )


def index_pointers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each user's row starts and ends, from how many ratings each has."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr
