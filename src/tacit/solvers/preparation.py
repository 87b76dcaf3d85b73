# SPDX-License-Identifier: Apache-2.0
"""What is released before the steps: means, counts, who enters (Chien et al., 2021, Algorithm 2).

The catalogue and every split of it come from noisy counts, never from exact ones.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.contributions import ItemCounts, Rows, UserMetric
from tacit.folding import Centring, FoldIn
from tacit.solvers.pricing import priced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Release
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.offsets import OffsetSteps
    from tacit.solvers.per_item import PerItem
    from tacit.solvers.warm_start import WarmStart


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What the releases came to.

    rows: which ratings enter the steps and how much they weigh; not yet centred nor clipped.
    counts: the sums of those weights for each item, noisy, above 0; ones where they
        are not released.
    frequent: the items that get factors.
    """

    centring: Centring
    rows: Rows
    counts: NDArray[np.float64]
    frequent: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Preparation:
    """The releases that options ask for, and what is made of the answers."""

    options: PerItem
    offset_steps: OffsetSteps
    public: Public
    counts_wanted: bool

    def releases(self) -> tuple[Release, ...]:
        options, m = self.options, self.public.n_items
        planned: tuple[Release, ...] = ()
        if options.centring == "user":
            planned += self.offset_steps.releases(self.public)
        if options.centring == "global":
            planned += priced(self._mean(), "mean", {"sum": options.mean_share})
        if self._counts_first:
            first = ItemCounts(m, self.all_rows)
            planned += priced(first, "counts", {"count": options.count_share})
        if self.counts_again:
            again = ItemCounts(m, self.all_rows)
            planned += priced(again, "recounts", {"count": options.count_share})
        return planned

    def ask(self, curator: Curator, start: WarmStart | None = None) -> Prepared:
        m = self.public.n_items
        centring, counts = Centring(np.zeros(m)), np.ones(m)
        if self.options.centring == "user":
            offsets = self.offset_steps.ask(curator, start)
            centring = self.offset_steps.centring(self.public, offsets.values)
            counts = offsets.counts
        if self.options.centring == "global":
            total = float(curator.noisy_sum(self._mean(), "mean")["sum"][0])
            mean = self.public.low + total / self.public.n_users
            centring = Centring(np.full(m, np.clip(mean, self.public.low, self.public.high)))
        if self._counts_first:
            counts = self._counted(curator, ItemCounts(m, self.all_rows), "counts")
        frequent = self._frequent(counts)
        rows = self._chosen_rows(counts, frequent)
        if self.counts_again:
            counts = self._counted(curator, ItemCounts(m, rows), "recounts")
        return Prepared(centring, rows, counts, frequent)

    @property
    def _choosy(self) -> bool:
        """Whether which ratings enter, or what they weigh, follows from counts."""
        power = self.options.sampling == "weights" and self.options.weight_power > 0
        return self.options.sampling == "rarest" or self.options.frequent < 1 or power

    @property
    def _counts_first(self) -> bool:
        return self._choosy and self.options.centring != "user"

    @property
    def counts_again(self) -> bool:
        """Whether the ratings that enter the steps are counted once more (Algorithm 2, line 6)."""
        same = self.options.sampling == "weights" and self.options.centring == "user"
        return self.counts_wanted and (self._choosy or not same)

    def _mean(self) -> UserMetric:
        """The sum over users of (mean rating - lowest): one number from each, within the width."""
        nothing = np.zeros((self.public.n_items, 0), np.float32)
        lowest = Centring(np.full(self.public.n_items, float(self.public.low)))
        return UserMetric(FoldIn(nothing, lowest), self.public.width, error="absolute")

    @property
    def all_rows(self) -> Rows:
        """Before any item is known to be rare: all ratings, or a choice that looks random.

        What is chosen later weighs at most as much, so plans are made with these.
        """
        if self.options.sampling == "weights":
            return Rows()
        return Rows(weighting="ones", item_limit=self.options.items_per_user)

    def _chosen_rows(self, counts: NDArray[np.float64], frequent: NDArray[np.bool_]) -> Rows:
        """The ratings that enter the steps."""
        among = None if frequent.all() else frequent
        rows = dataclasses.replace(self.all_rows, among=among)
        if self.options.sampling == "weights" and self.options.weight_power > 0:
            return dataclasses.replace(rows, noisy_counts=counts, power=self.options.weight_power)
        if self.options.sampling == "rarest":
            return dataclasses.replace(rows, noisy_counts=counts)
        return rows

    def _frequent(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Marks the ceil(beta m) items of largest noisy counts."""
        marked = np.ones(self.public.n_items, bool)
        if self.options.frequent < 1:
            rare = self.public.n_items - math.ceil(self.options.frequent * self.public.n_items)
            marked[np.argsort(counts, kind="stable")[:rare]] = False
        return marked

    def _counted(self, curator: Curator, question: ItemCounts, release: str) -> NDArray[np.float64]:
        """Noisy counts, none below their noise."""
        noisy = curator.noisy_sum(question, release)["count"]
        counts: NDArray[np.float64] = np.maximum(
            noisy, max(curator.plan[f"{release}.count"].std, 1e-3)
        )
        return counts
