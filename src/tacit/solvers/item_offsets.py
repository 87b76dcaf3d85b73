# SPDX-License-Identifier: Apache-2.0
"""Item means and counts, released; ranks by them. The smallest private recommender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan
from tacit.folding import FoldIn
from tacit.solvers.offsets import OffsetSteps

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator


@dataclass(frozen=True, slots=True)
class ItemOffsets:
    """Predicts a user's own mean plus a released offset of the item (see `OffsetSteps`).

    steps: how often the sums are released.
    count_share: share of mu^2 that the noisy counts get; the sums share the rest.
    row_bound: a user's root mean square deviation from what is predicted counts as at most this
        share of the width of the scale.
    mean_ridge: a user's mean is shrunk toward the middle of the scale as by so many ratings there.
    """

    steps: int = 5
    count_share: float = 0.15
    row_bound: float = 0.25
    mean_ridge: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")
        if not 0 < self.count_share < 1:
            raise ValueError(f"count_share must be between 0 and 1, got {self.count_share}")
        if not 0 < self.row_bound <= 1:
            raise ValueError(f"row_bound must be above 0 and at most 1, got {self.row_bound}")
        if not self.mean_ridge >= 0:
            raise ValueError(f"mean_ridge must be at least 0, got {self.mean_ridge}")

    def plan(self, public: Public) -> Plan:
        return Plan(self._offset_steps(public).releases(public))

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        offset_steps = self._offset_steps(public)
        b = offset_steps.ask(curator).values
        no_factors = np.zeros((public.n_items, 0), np.float32)
        return FoldIn(no_factors, offset_steps.centring(public, b))

    def _offset_steps(self, public: Public) -> OffsetSteps:
        return OffsetSteps(
            count_share=self.count_share,
            sum_share=1 - self.count_share,
            steps=self.steps,
            row_bound=self.row_bound * public.width,
            mean_ridge=self.mean_ridge,
        )
