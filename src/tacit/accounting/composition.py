# SPDX-License-Identifier: Apache-2.0
"""What many releases cost together: mu and epsilon, zero-out and replace-one.

Proofs: proofs/accounting.md. Every function takes releases in any order, as a plan declares them or
as a ledger has spent them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from tacit.accounting import gdp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.accounting.release import Release

Adjacency = Literal["zero-out", "replace-one"]

# Above the rounding error of a composed mu: a quotient, a square, an exact sum and a root.
_ROUND_UP = 1.0 + 2.0**-50


def mu_zero_out(releases: Sequence[Release]) -> float:
    """Gaussian-DP mu when one user's row is zeroed out: sqrt of the sum of times (l2 / std)^2.

    Exact where no release is subsampled, an upper bound where some are.
    """
    return math.sqrt(_sum([release.mu_squared for release in releases]))


def pure_epsilon(releases: Sequence[Release], adjacency: Adjacency = "zero-out") -> float:
    """What posterior samples cost, all of them exact: a user's loss over the temperature.

    A user whose row is zeroed out changes the loss by at most l2 and moves the normaliser the other
    way; one whose row is replaced does both twice.
    """
    once = _sum(
        [
            release.times * (release.l2 / release.std if release.std else math.inf)
            for release in releases
            if release.posterior
        ]
    )
    return once if adjacency == "zero-out" else 2 * once


def mu_replace(releases: Sequence[Release]) -> float:
    """Gaussian-DP mu when one user's row is replaced by any other; at most twice `mu_zero_out`.

    A cone release moves by at most sqrt(2) l2, any other by 2 l2. A right-hand side and the Gram
    release it names as partner are priced together by Lemma J, as often as both are released.
    """
    grams = {release.name: release for release in releases if release.cone}
    unpaired = {name: gram.times for name, gram in grams.items()}
    terms = []
    for release in releases:
        if release.cone:
            continue
        if release.posterior:
            once = 2 * release.l2 / release.std if release.std else math.inf
            terms.append(release.times * gdp.mu_of_pure(once) ** 2)
            continue
        pairs = min(release.times, unpaired.get(release.partner, 0))
        if pairs:
            unpaired[release.partner] -= pairs
            gram = grams[release.partner]
            terms.append(pairs * joint_replace(gram.mu_squared_once, release.mu_squared_once))
        if release.times > pairs:
            terms.append(4 * (release.times - pairs) * release.mu_squared_once)
    terms += [2 * times * grams[name].mu_squared_once for name, times in unpaired.items() if times]
    return math.sqrt(_sum(terms))


def joint_replace(a: float, b: float) -> float:
    """Lemma J: replace-one mu^2 of a Gram release and a right-hand side made of the same vectors.

    a, b: their zero-out mu^2. The worst pair of users has an angle of cosine min(1, b / 2a).
    """
    if math.isinf(a) or math.isinf(b):
        return math.inf
    return 2 * a + 2 * b + b * (b / (2 * a)) if b <= 2 * a else 4 * b


def numerical_epsilon(releases: Sequence[Release], relative_error: float) -> float:
    """What inexact arithmetic adds to epsilon: twice the relative error of every released number.

    relative_error: every lattice point has its stated probability up to this relative error.
    """
    if not 0 <= relative_error < 1:
        raise ValueError(f"relative_error must be in [0, 1), got {relative_error}")
    return 2 * _numbers(releases) * math.atanh(relative_error)


def noise_budget(
    releases: Sequence[Release], epsilon: float, delta: float, relative_error: float
) -> tuple[float, float]:
    """What the numerical part leaves of (epsilon, delta) to the noise itself.

    Probabilities that are too large by (1 + relative_error) per number raise delta as well.
    """
    left = epsilon - numerical_epsilon(releases, relative_error)
    return left, delta * math.exp(-_numbers(releases) * relative_error)


def epsilon(
    releases: Sequence[Release],
    delta: float,
    *,
    adjacency: Adjacency = "zero-out",
    relative_error: float = 0.0,
) -> float:
    """The smallest epsilon at `delta`, numerical part included, rounded up, never down.

    Guarantee:
        Exact Gaussian-DP where no release is subsampled; else a pessimistic privacy loss
        distribution. Posterior samples add their pure epsilon, given that they are exact. Infinite
        where any std is 0. Proof: proofs/accounting.md.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    extra = numerical_epsilon(releases, relative_error)
    _, delta = noise_budget(releases, 0.0, delta, relative_error)
    if delta == 0:
        return math.inf
    sums = tuple(release for release in releases if not release.posterior)
    extra += pure_epsilon(releases, adjacency)
    mu = mu_zero_out(sums) if adjacency == "zero-out" else mu_replace(sums)
    exact = gdp.epsilon(delta, mu * _ROUND_UP)
    if math.isfinite(exact) and any(release.sample_rate < 1 for release in sums):
        from tacit.accounting import subsampled  # noqa: PLC0415  (dp-accounting is slow to import)

        curve = subsampled.curve(sums)
        sampled = curve.epsilon(delta) if adjacency == "zero-out" else curve.epsilon_replace(delta)
        exact = min(exact, sampled)
    return math.nextafter(exact + extra, math.inf) if extra else exact


def _numbers(releases: Sequence[Release]) -> int:
    return sum(release.size * release.times for release in releases if not release.posterior)


def _sum(terms: list[float]) -> float:
    """An exactly rounded sum, so that the order of releases cannot matter."""
    return math.inf if math.inf in terms else math.fsum(terms)
