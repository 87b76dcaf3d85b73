# SPDX-License-Identifier: Apache-2.0
"""The first releases of every explicit-feedback solver here: item counts, then item offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Release
from tacit.contributions import ItemCounts, ItemSums, Rows
from tacit.folding import Centring
from tacit.solvers.shrinkage import shrunk_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.warm_start import WarmStart


COUNTS_OF_OFFSETS = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """What the releases came to: weighted counts and offsets of all items."""

    counts: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OffsetSteps:
    """Each step asks for the sum of rating - user's mean - offset over the raters of each item.

    The user's mean allows for the offsets known so far, so means and offsets sharpen each other;
    the average over the steps so far is shrunk by how noisy it is. A user's n ratings weigh
    1 / sqrt(n) each.

    count_share, sum_share: of mu^2, for the counts and for all sums together; without a share for
        the sums only counts are released, and offsets are 0.
    steps: how often the sums are released.
    row_bound: a user's root mean square deviation counts as at most this.
    mean_ridge: a user's mean is shrunk toward the middle of the scale as by so many ratings there.
    """

    count_share: float
    sum_share: float
    steps: int
    row_bound: float
    mean_ridge: float

    @classmethod
    def usual(
        cls,
        public: Public,
        share: float,
        *,
        counts: float = COUNTS_OF_OFFSETS,
        mean_ridge: float = 1.0,
    ) -> OffsetSteps:
        """What solvers ask that go on from the offsets: for this share of mu^2, some for counts."""
        return cls(
            count_share=share * counts,
            sum_share=share * (1 - counts),
            steps=5,
            row_bound=public.width / 4,
            mean_ridge=mean_ridge,
        )

    def releases(self, public: Public) -> tuple[Release, ...]:
        m = public.n_items
        counts = Release.share("counts.count", l2=1.0, share=self.count_share, size=m, cone=True)
        if not self.sum_share:
            return (counts,)
        sums = Release.share(
            "offsets.sum", l2=self.row_bound, share=self.sum_share, times=self.steps, size=m
        )
        return counts, sums

    def centring(self, public: Public, offsets: NDArray[np.float64]) -> Centring:
        """A rating less its item's offset and the user's mean, around the middle of the scale."""
        return Centring((public.low + public.high) / 2 + offsets, self.mean_ridge)

    def ask(self, curator: Curator, start: WarmStart | None = None) -> Offsets:
        """Release the counts, then the sums step by step.

        With a start its offsets are what the sums correct, and shrinking leads back to them.
        """
        public, plan = curator.public, curator.plan
        noisy = curator.noisy_sum(ItemCounts(public.n_items, Rows()), "counts")["count"]
        counts = np.maximum(noisy, max(plan["counts.count"].std, 1e-3))
        if not self.sum_share:
            return Offsets(counts, np.zeros(public.n_items))
        # Of one rating, a quarter of the scale is chance; its weight is 1 / sqrt(ratings), of
        # which the sum of all weights tells the mean.
        rating_variance = (public.width / 4) ** 2 * counts * public.n_users / counts.sum()

        first = np.zeros(public.n_items) if start is None else start.offsets(public)
        b = first.copy()
        total = np.zeros(public.n_items)
        for t in range(1, self.steps + 1):
            rows = Rows(clip=public.width, centring=self.centring(public, b))
            question = ItemSums(public.n_items, rows, self.row_bound)
            # The answer is about rating - mean - b; with (b - first) * weight it is about what b
            # is to become, less where it began.
            total += curator.noisy_sum(question, "offsets")["sum"] + (b - first) * counts
            b = first + shrunk_offsets(
                total / t,
                counts,
                noise_variance=plan["offsets.sum"].std ** 2 / t,
                rating_variance=rating_variance,
                width=public.width,
            )
        return Offsets(counts, b)
