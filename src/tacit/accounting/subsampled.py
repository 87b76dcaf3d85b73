# SPDX-License-Identifier: Apache-2.0
"""Poisson-subsampled releases, priced by dp-accounting's privacy loss distributions (PLD).

Imported only where a plan has a release with `sample_rate` below 1: dp-accounting is slow to load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dp_accounting.pld import privacy_loss_distribution

from tacit.accounting.composition import mu_zero_out

if TYPE_CHECKING:
    from tacit.accounting.release import Release


# What the first half of a replacement may take of delta; every choice gives a valid bound.
_SHARES = (0.7, 0.5, 0.3)


@dataclass(frozen=True, slots=True)
class Curve:
    """The (epsilon, delta) curve of some releases under zero-out adjacency.

    Guarantee:
        Every epsilon is an upper bound ("connect the dots" discretisation, pessimistic). Each user
        enters each subsampled release by a coin of her own that nobody sees.
    """

    loss: Any

    def epsilon(self, delta: float) -> float:
        """The zero-out epsilon at `delta`."""
        return float(self.loss.get_epsilon_for_delta(delta))

    def epsilon_replace(self, delta: float) -> float:
        """The replace-one epsilon at `delta`, by zeroing one row out and filling it again.

        (e, d) for one half and (f, c) for the other give (e + f, d + exp(e) c). Looser than a
        direct analysis, but proved for shares that point in any direction.
        """
        best = math.inf
        for share in _SHARES:
            first = self.epsilon(share * delta)
            second = self.epsilon((1 - share) * delta * math.exp(-min(first, 700.0)))
            best = min(best, first + second)
        return best


@lru_cache(maxsize=8)
def curve(releases: tuple[Release, ...]) -> Curve:
    """The curve of these releases together; those without subsampling enter as one Gaussian."""
    sampled = [release for release in releases if release.sample_rate < 1]
    mu_full = mu_zero_out([release for release in releases if release.sample_rate == 1])
    interval = _interval(sampled, mu_full)
    parts = [
        _gaussian(math.sqrt(release.mu_squared_once), release.sample_rate, interval).self_compose(
            release.times
        )
        for release in sampled
    ]
    if mu_full > 0:
        parts.append(_gaussian(mu_full, 1.0, interval))
    loss = parts[0]
    for part in parts[1:]:
        loss = loss.compose(part)
    return Curve(loss)


def _gaussian(mu: float, sample_rate: float, interval: float) -> Any:
    return privacy_loss_distribution.from_gaussian_mechanism(
        1.0 / mu,
        sampling_prob=sample_rate,
        value_discretization_interval=interval,
        use_connect_dots=True,
        pessimistic_estimate=True,
    )


def _interval(sampled: list[Release], mu_full: float) -> float:
    """Fine enough that rounding adds under 1e-4 to each loss's variance, at ~5e5 cells or fewer."""
    finest, widest, total = 1e-4, mu_full * mu_full / 2 + 10 * mu_full, mu_full * mu_full / 2
    for release in sampled:
        mu = math.sqrt(release.mu_squared_once)
        finest = min(finest, 0.02 * release.sample_rate * min(mu, 1))
        widest = max(widest, mu * mu / 2 + 10 * mu)
        # By convexity a sampled release loses at most sample_rate times what a full one does.
        total += release.times * release.sample_rate * mu * mu / 2
    return max(finest, 2e-6 * (widest + total))
