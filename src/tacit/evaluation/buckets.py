# SPDX-License-Identifier: Apache-2.0
"""Items by how often they were rated: a model may be good for the popular ones only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKETS = ("head", "middle", "tail")


def popularity_buckets(popularity: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each item 0, 1 or 2: head, middle and tail have a third of the training ratings each.

    Sorted by number of ratings (equal ones in catalogue order), an item belongs where the middle of
    its ratings falls. An item without ratings belongs to the tail.
    """
    order = np.argsort(-popularity, kind="stable")
    sorted_counts = popularity[order]
    middles = np.cumsum(sorted_counts) - sorted_counts / 2
    bucket = np.empty(len(popularity), np.int64)
    thirds = np.floor(3 * middles / max(int(popularity.sum()), 1)).astype(np.int64)
    bucket[order] = np.where(sorted_counts == 0, 2, np.minimum(thirds, 2))
    return bucket
