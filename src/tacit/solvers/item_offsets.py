# SPDX-License-Identifier: Apache-2.0
"""Item means and counts, released; ranks by them. The smallest private recommender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, ItemSums, Rows
from tacit.folding import Centring, FoldIn
from tacit.solvers.shrinkage import shrunk_offsets

if TYPE_CHECKING:
    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator


@dataclass(frozen=True, slots=True)
class ItemOffsets:
    """Predicts a user's own mean plus a released offset of the item.

    Each step asks for the sum of rating - user's mean over the raters of each item, where the
    user's mean allows for the offsets known so far; the average over the steps so far is shrunk by
    how noisy it is. A user's ratings weigh 1 / sqrt(number of her ratings) each.

    steps: how often the sums are released; the means and the offsets sharpen each other.
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
        bound, m = self.row_bound * public.width, public.n_items
        return Plan(
            (
                Release.share("counts.count", l2=1.0, share=self.count_share, size=m, cone=True),
                Release.share(
                    "offsets.sum", l2=bound, share=1 - self.count_share, times=self.steps, size=m
                ),
            )
        )

    def fit(self, curator: Curator) -> FoldIn:
        public, plan = curator.public, curator.plan
        middle = (public.low + public.high) / 2
        bound = self.row_bound * public.width

        noisy = curator.noisy_sum(ItemCounts(public.n_items, Rows()), "counts")["count"]
        counts = np.maximum(noisy, max(plan["counts.count"].std, 1e-3))
        # Of one rating, a quarter of the scale is chance; its weight is 1 / sqrt(ratings), of
        # which the sum of all weights tells the mean.
        rating_variance = (public.width / 4) ** 2 * counts * public.n_users / counts.sum()

        b = np.zeros(public.n_items)
        total = np.zeros(public.n_items)
        for t in range(1, self.steps + 1):
            rows = Rows(clip=public.width, centring=Centring(middle + b, self.mean_ridge))
            answer = curator.noisy_sum(ItemSums(public.n_items, rows, bound), "offsets")["sum"]
            # The sum is of rating - mean - b; adding back b * weight gives rating - mean.
            total += answer + b * counts
            noise_variance = plan["offsets.sum"].std ** 2 / t
            b = shrunk_offsets(
                total / t,
                counts,
                noise_variance=noise_variance,
                rating_variance=rating_variance,
                width=public.width,
            )
        factors = np.zeros((public.n_items, 0), np.float32)
        return FoldIn(factors, Centring(middle + b, self.mean_ridge))
