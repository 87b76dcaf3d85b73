# SPDX-License-Identifier: Apache-2.0
"""What descent changes: factors and offsets of users and items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows are whole registers of every instruction set.
_MULTIPLE = 16
# Of the products of the first user and item factors, as a share of the unit of the ratings.
_FIRST_SPREAD = 0.1


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class State:
    """Rows of factors, padded with zeros to a multiple of 16, and offsets.

    Item rows are in the order of a `Numbering`. Clocks say up to when a row has had its noise.
    """

    rank: int
    U: NDArray[np.float32]
    V: NDArray[np.float32]
    user_offsets: NDArray[np.float32]
    item_offsets: NDArray[np.float32]
    user_clock: NDArray[np.float64]
    item_clock: NDArray[np.float64]

    @classmethod
    def first(cls, users: int, items: int, rank: int, seed: int) -> State:
        """Random factors, offsets of zero; nothing of it depends on data."""
        rng = np.random.default_rng(seed)
        size = (_FIRST_SPREAD**2 / max(rank, 1)) ** 0.25
        width = -(-max(rank, 1) // _MULTIPLE) * _MULTIPLE

        def rows(count: int) -> NDArray[np.float32]:
            factors = np.zeros((count, width), np.float32)
            rng.standard_normal(
                out=(drawn := np.empty((count, rank), np.float32)), dtype=np.float32
            )
            factors[:, :rank] = size * drawn
            return factors

        V = rows(items)  # first, so that they do not depend on the number of users
        return cls(
            rank=rank,
            U=rows(users),
            V=V,
            user_offsets=np.zeros(users, np.float32),
            item_offsets=np.zeros(items, np.float32),
            user_clock=np.zeros(users),
            item_clock=np.zeros(items),
        )

    def arrays(self) -> dict[str, NDArray[np.float32] | NDArray[np.float64]]:
        """By name, for a file."""
        names = ("U", "V", "user_offsets", "item_offsets", "user_clock", "item_clock")
        return {name: getattr(self, name) for name in names}
