# SPDX-License-Identifier: Apache-2.0
"""Accounting as data: what will be released, how much one user weighs in it, and the noise on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Release:
    """A noisy sum over users, released `times` times with the same bound and noise.

    l2: the most that one user's share can weigh (Euclidean norm; Frobenius for matrices). It is the
        sensitivity when one user's row is zeroed out.
    std: standard deviation of the noise, in the unit of l2; 0 only where nothing is private.
    size: how many numbers one release has; only the numerical part of epsilon depends on it.
    cone: two users' shares never have a negative inner product (counts, Gram matrices), so replacing
        a user moves the sum by at most sqrt(2) l2 instead of 2 l2.
    partner: name of the Gram release that shares its user vector with this right-hand side; the two
        are then replaced together (Lemma J of docs/privacy.md).
    sample_rate: below 1, each user enters each release by an independent secret coin of this bias.
    """

    name: str
    l2: float
    std: float
    times: int = 1
    size: int = 1
    cone: bool = False
    partner: str = ""
    sample_rate: float = 1.0

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

    @classmethod
    def share(
        cls,
        name: str,
        *,
        l2: float,
        share: float,
        times: int = 1,
        size: int = 1,
        cone: bool = False,
        partner: str = "",
    ) -> Release:
        """A release that takes `share` of mu^2 over all its times, before calibration scales it."""
        std = l2 * math.sqrt(times / share)
        return cls(name, l2, std, times, size, cone, partner)

    @property
    def mu_squared_once(self) -> float:
        """(l2 / std)^2: what one of the `times` costs, under zero-out adjacency."""
        return math.inf if self.std == 0 else (self.l2 / self.std) ** 2

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
        return math.sqrt(sum(release.mu_squared for release in self.releases))
