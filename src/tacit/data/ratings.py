# SPDX-License-Identifier: Apache-2.0
"""Everything that `tacit.read` brings back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.data.catalogue import Catalogue, Scale


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ratings:
    """All users' rows with the public facts around them.

    The number of users, the catalogue and the scale are public by assumption and every statement
    says so. The number of ratings is not: it appears in no repr, log or error.

    own_epsilons: what each user grants, NaN where she said nothing; a training turns it into levels
        of the block (see `UserBlock.levels`), since they depend on its budget. None if nobody was
        asked. Private like her ratings.
    """

    block: UserBlock
    user_ids: NDArray[np.int64] | NDArray[np.object_]
    catalogue: Catalogue
    scale: Scale
    own_epsilons: NDArray[np.float64] | None = None

    @property
    def personal(self) -> bool:
        """Whether users could declare a privacy of their own; public, unlike what they said."""
        return self.own_epsilons is not None or self.block.levels is not None

    @property
    def n_users(self) -> int:
        return self.block.n_users

    @property
    def n_items(self) -> int:
        return self.block.n_items

    def __repr__(self) -> str:
        return (
            f"Ratings(users={self.n_users}, items={self.n_items}, "
            f"scale={self.scale.low:g} to {self.scale.high:g}, <private rows>)"
        )
