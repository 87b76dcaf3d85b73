# SPDX-License-Identifier: Apache-2.0
"""At most so many ratings of each user, chosen by her own row and public inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import hash_rows, keep_smallest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock


def uniform(block: UserBlock, most: int, *, seed: int) -> UserBlock:
    """At most `most` ratings of each user, chosen as if at random from a public seed.

    The choice looks at which items she rated, not at how: it is the same for counts and for centred
    values, and the same in every step.

    Guarantee:
        Every user keeps min(most, her number) of her ratings; local: the choice is a function of
        (seed, the set of her items), not of her place in the block nor of the order of her row.
    """
    return _limited(block, hash_rows(block.indptr, block.items, seed), most)


def rarest_first(block: UserBlock, most: int, *, noisy_counts: NDArray[np.float64]) -> UserBlock:
    """At most `most` ratings of each user: those of the items with the fewest noisy counts.

    Equal counts go by item index. The counts must be public, that is released with noise.

    Guarantee:
        Every user keeps min(most, her number) of her ratings; local given the noisy counts.
    """
    if noisy_counts.shape != (block.n_items,):
        raise ValueError(f"noisy_counts must be one per item, got shape {noisy_counts.shape}")
    if not np.isfinite(noisy_counts).all():
        raise ValueError("noisy_counts must be finite")
    rank = np.empty(block.n_items, np.uint64)
    rank[np.argsort(noisy_counts, kind="stable")] = np.arange(block.n_items, dtype=np.uint64)
    return _limited(block, rank[block.items], most)


def _limited(block: UserBlock, keys: NDArray[np.uint64], most: int) -> UserBlock:
    """The ratings with the smallest keys of each user."""
    if most < 1:
        raise ValueError(f"a user must keep at least 1 rating, got a limit of {most}")
    return block.keep(keep_smallest(block.indptr, keys, most))
