# SPDX-License-Identifier: Apache-2.0
"""What one user adds to a sum, and how much that can weigh."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock

Sums = dict[str, "NDArray[np.int64]"]


def triangle(rank: int) -> int:
    """How many numbers the packed upper triangle of a symmetric rank x rank matrix has."""
    return rank * (rank + 1) // 2


@dataclass(frozen=True, slots=True)
class Part:
    """One array that a contribution adds up, as integers on a public grid.

    name: unique within the contribution.
    shape: of the integer array.
    limit: one user's share has Euclidean norm at most this many grid steps, in integers.
    step: real size of one grid step.
    symmetric: the last axis is the packed upper triangle (row by row) of a symmetric matrix; the
        norm is then Frobenius (off-diagonal entries count twice) and the noise isometric.
    cone: see `Release`.
    """

    name: str
    shape: tuple[int, ...]
    limit: int
    step: float
    symmetric: bool = False
    cone: bool = False

    def __post_init__(self) -> None:
        if self.limit < 1 or not 0 < self.step < math.inf:
            raise ValueError(f"part {self.name!r}: limit must be >= 1 and step a positive number")

    @property
    def l2(self) -> float:
        """The bound in real units: what the release of this part is priced with."""
        return self.limit * self.step

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return math.prod(self.shape)

    @property
    def by_item(self) -> bool:
        """Whether it has a row of numbers for each item; then it is added to by `by_item.add`."""
        return len(self.shape) == 2


class Contribution(ABC):
    """A frozen dataclass of public inputs that maps a block to exact integer sums.

    Stateless and additive: f(A + B) == f(A) + f(B) for any split of users, because a share depends
    on that user's row and on public values only. Both properties, and the bound of every part, are
    tested for each class in the registry (tests/property).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """Names, shapes and bounds of the sums."""

    @abstractmethod
    def add(self, block: UserBlock, sums: Sums) -> None:
        """Add the block's shares to `sums` in place."""

    def zeros(self) -> Sums:
        return {part.name: np.zeros(part.shape, np.int64) for part in self.parts}

    def __call__(self, block: UserBlock) -> Sums:
        sums = self.zeros()
        self.add(block, sums)
        return sums
