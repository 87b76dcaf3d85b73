# SPDX-License-Identifier: Apache-2.0
"""Everything that `tacit.read` brings back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tacit.data.block import UserBlock
from tacit.data.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.data.catalogue import Catalogue, Scale


class Rows(Protocol):
    """Where all users' rows lie: in memory (`UserBlock`), or elsewhere; an engine adds them up."""

    @property
    def n_users(self) -> int: ...
    @property
    def n_items(self) -> int: ...
    @property
    def personal(self) -> bool: ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ratings:
    """All users' rows with the public facts around them.

    The number of users, the catalogue and the scale are public by assumption and every statement
    says so. The number of ratings is not: it appears in no repr, log or error. Training needs the
    public facts and an engine for the rows; what looks at single rows needs them in memory.

    ids: of the users in the order of the rows; None where rows do not lie in memory.
    own_epsilons: what each user grants, NaN where she said nothing; a training turns it into levels
        of the block (see `UserBlock.levels`), since they depend on its budget. None if nobody was
        asked. Private like her ratings.
    """

    rows: Rows
    ids: NDArray[np.int64] | NDArray[np.object_] | None
    catalogue: Catalogue
    scale: Scale
    own_epsilons: NDArray[np.float64] | None = None

    @property
    def personal(self) -> bool:
        """Whether users could declare a privacy of their own; public, unlike what they said."""
        return self.own_epsilons is not None or self.rows.personal

    @property
    def n_users(self) -> int:
        return self.rows.n_users

    @property
    def n_items(self) -> int:
        return self.rows.n_items

    @property
    def block(self) -> UserBlock:
        """The rows in memory; raises DataError where they lie elsewhere."""
        if not isinstance(self.rows, UserBlock):
            raise DataError(_ELSEWHERE)
        return self.rows

    @property
    def user_ids(self) -> NDArray[np.int64] | NDArray[np.object_]:
        """The users' ids; raises DataError where rows do not lie in memory."""
        if self.ids is None:
            raise DataError(_ELSEWHERE)
        return self.ids

    def __repr__(self) -> str:
        return (
            f"Ratings(users={self.n_users}, items={self.n_items}, "
            f"scale={self.scale.low:g} to {self.scale.high:g}, <private rows>)"
        )


_ELSEWHERE = (
    "these ratings do not lie in memory, and this looks at single rows: tacit.fit can train on "
    "them; to split or judge, read them (or a sample of users) into memory"
)
