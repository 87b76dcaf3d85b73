# SPDX-License-Identifier: Apache-2.0
"""How a user finds her factors where her algorithm does not have her solve least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.folding import RatedRows


class UserStep(Protocol):
    """A frozen dataclass of public numbers, which the model file stores by `kind`.

    It holds nothing that belongs to single items: that is what the columns of the item factors are
    for. `targets` are the users' centred ratings, one for each rating of `rows`.
    """

    kind: ClassVar[str]
    """Its name in the model file, whose meaning never changes."""

    beside: ClassVar[int]
    """How many of the last columns of the item factors serve the step alone: x is 0 there."""

    def check(self, item_factors: NDArray[np.float32]) -> None:
        """Refuse item factors that do not go with these numbers (ValueError)."""
        ...

    def factors(
        self, item_factors: NDArray[np.float32], rows: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Each user's factors, of her own row and public values only; zeros without ratings."""
        ...

    def influence(
        self, item_factors: NDArray[np.float32], row: RatedRows, targets: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Of one user, rank x ratings: her factors are this times her targets.

        Where a rule shortens her row, it is taken to shorten by what it does now.
        """
        ...
