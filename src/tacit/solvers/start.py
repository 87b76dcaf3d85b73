# SPDX-License-Identifier: Apache-2.0
"""How the solvers that look for directions begin: offsets first, or ratings as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.folding import Centring
from tacit.solvers.offsets import OffsetSteps

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.accounting.release import Release
    from tacit.mechanisms.curator import Curator


class Started(NamedTuple):
    """How ratings are centred, and about how many a user has; all items where nothing tells."""

    centring: Centring
    per_user: float


@dataclass(frozen=True, slots=True)
class Start:
    """Item counts and offsets for this share of mu^2.

    With a share of 0 nothing is released, and a rating counts from the middle of the scale.
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ValueError(f"offset_share must be at least 0 and below 1, got {self.share}")

    def releases(self, public: Public) -> tuple[Release, ...]:
        return self._steps(public).releases(public) if self.share else ()

    def ask(self, curator: Curator) -> Started:
        public = curator.public
        if not self.share:
            return Started(Centring((public.low + public.high) / 2), public.n_items)
        steps = self._steps(public)
        found = steps.ask(curator)
        # Weights are 1 / sqrt(ratings of the user): their sum is that of everybody's roots.
        root = float(found.counts.sum()) / public.n_users
        per_user = float(np.clip(root**2, 1, public.n_items))
        return Started(steps.centring(public, found.values), per_user)

    def _steps(self, public: Public) -> OffsetSteps:
        return OffsetSteps.usual(public, self.share)
