# SPDX-License-Identifier: Apache-2.0
"""Accounting as data: what will be released, how much one user weighs in it, and the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tacit.accounting import composition, gdp


@dataclass(frozen=True, slots=True)
class Release:
    """A noisy sum over users, released `times` times with the same bound and noise.

    l2: the most that one user's share can weigh (Euclidean norm; Frobenius for matrices). It is the
        sensitivity when one user's row is zeroed out.
    std: standard deviation of the noise, in the unit of l2; 0 only where nothing is private.
    size: how many numbers one release has; only the numerical part of epsilon depends on it.
    cone: two users' shares never have a negative inner product (counts, Gram matrices), so
        replacing a user moves the sum by at most sqrt(2) l2 instead of 2 l2.
    partner: name of the Gram release (a cone) made of the same user vectors and weights as this
        right-hand side; the two are then replaced together. proofs/accounting.md, Lemma J, states
        what must hold: each value clipped by itself, not only their norm.
    sample_rate: below 1, each user enters each release by an independent secret coin of this bias.
    posterior: not a noisy sum but one exact sample of density exp(-loss / std): l2 is the most that
        one user can add to the loss and std the temperature, so it is (l2 / std)-private (pure).
    """

    name: str
    l2: float
    std: float
    times: int = 1
    size: int = 1
    cone: bool = False
    partner: str = ""
    sample_rate: float = 1.0
    posterior: bool = False

    def __post_init__(self) -> None:
        if not self.l2 > 0 or not math.isfinite(self.l2):
            raise ValueError(f"release {self.name!r}: l2 must be a positive number, got {self.l2}")
        if not self.std >= 0:
            raise ValueError(f"release {self.name!r}: std must be >= 0, got {self.std}")
        if self.times < 1 or self.size < 1:
            raise ValueError(f"release {self.name!r}: times and size must be at least 1")
        if not 0 < self.sample_rate <= 1:
            raise ValueError(
                f"release {self.name!r}: sample_rate must be in (0, 1], got {self.sample_rate}"
            )
        if self.posterior and (self.cone or self.partner or self.sample_rate < 1):
            raise ValueError(
                f"release {self.name!r}: a posterior sample has no cone, partner or rate"
            )
        if self.partner and self.sample_rate < 1:
            raise ValueError(
                f"release {self.name!r}: partners would share one coin; make them one release"
            )

    @classmethod
    def share(  # noqa: PLR0913  (the fields of a release)
        cls,
        name: str,
        *,
        l2: float,
        share: float,
        times: int = 1,
        size: int = 1,
        cone: bool = False,
        partner: str = "",
        sample_rate: float = 1.0,
    ) -> Release:
        """A release that takes `share` of mu^2 over all its times, before calibration scales it.

        A sampled one takes about that, as sampling divides its mu by about the sample rate.
        """
        if not share > 0:
            raise ValueError(f"release {name!r}: share must be > 0, got {share}")
        std = l2 * math.sqrt(times / share) * sample_rate
        return cls(name, l2, std, times, size, cone, partner, sample_rate)

    @property
    def mu_squared_once(self) -> float:
        """(l2 / std)^2: what one of the `times` costs, under zero-out adjacency.

        Of a posterior sample that of the weakest Gaussian release which is as private.
        """
        if self.std == 0:
            return math.inf
        if self.posterior:
            return gdp.mu_of_pure(self.l2 / self.std) ** 2
        once = self.l2 / self.std
        return once * once

    @property
    def mu_squared(self) -> float:
        """What all of the `times` cost together."""
        return self.times * self.mu_squared_once


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run may release. A solver declares it before any data is read."""

    releases: tuple[Release, ...]

    def __post_init__(self) -> None:
        names = [release.name for release in self.releases]
        if not names:
            raise ValueError("a plan needs at least one release")
        if len(set(names)) != len(names):
            raise ValueError(f"release names must differ from each other, got {names}")
        for release in self.releases:
            if release.partner and release.partner not in names:
                raise ValueError(
                    f"release {release.name!r}: no partner {release.partner!r} in plan"
                )

    def __getitem__(self, name: str) -> Release:
        for release in self.releases:
            if release.name == name:
                return release
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        return any(release.name == name for release in self.releases)

    def scaled(self, factor: float) -> Plan:
        """The same plan with every std multiplied by `factor`."""
        return Plan(tuple(replace(r, std=r.std * factor) for r in self.releases))

    @property
    def mu(self) -> float:
        """The plan is exactly mu-GDP under zero-out adjacency (where no release is subsampled)."""
        return composition.mu_zero_out(self.releases)

    @property
    def mu_replace(self) -> float:
        """The plan is mu-GDP with this mu when one user's row is replaced by any other."""
        return composition.mu_replace(self.releases)

    @property
    def posterior(self) -> bool:
        return any(release.posterior for release in self.releases)

    @property
    def subsampled(self) -> bool:
        return any(release.sample_rate < 1 for release in self.releases)

    def epsilon(self, delta: float, relative_error: float = 0.0) -> float:
        """Zero-out epsilon at `delta`, numerical part included; see `composition.epsilon`."""
        return composition.epsilon(self.releases, delta, relative_error=relative_error)

    def epsilon_replace(self, delta: float, relative_error: float = 0.0) -> float:
        """Replace-one epsilon at `delta`, numerical part included."""
        return composition.epsilon(
            self.releases, delta, adjacency="replace-one", relative_error=relative_error
        )
