# SPDX-License-Identifier: Apache-2.0
"""How often each item was rated, released; ranks by it. What a ranking has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, Rows
from tacit.folding import Centring, FoldIn

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator

# How far apart, as a share of the scale, the most and the least popular item are predicted.
_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class Popularity:
    """Recommends what many users rated; predicts a user's own mean for every item.

    The ratings of a user weigh 1 / sqrt(number of her ratings) each, so that all of them together
    weigh as much as anybody else's. The noisy sums of the weights move a prediction by at most a
    hundredth of the scale: enough to rank by, too little to matter as a rating.
    """

    def plan(self, public: Public) -> Plan:
        return Plan(
            (Release.share("counts.count", l2=1.0, share=1.0, size=public.n_items, cone=True),)
        )

    def fit(self, curator: Curator) -> FoldIn:
        public = curator.public
        counts = curator.noisy_sum(ItemCounts(public.n_items, Rows()), "counts")["count"]
        largest = max(float(np.abs(counts).max()), np.finfo(np.float64).tiny)
        offsets = (public.low + public.high) / 2 + _SPREAD / 2 * public.width * counts / largest
        return FoldIn(np.zeros((public.n_items, 0), np.float32), Centring(offsets, mean_ridge=1.0))
