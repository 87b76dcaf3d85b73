# SPDX-License-Identifier: Apache-2.0
"""What a model may say about privacy: computed from the releases made, never configured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.accounting import composition, gdp, personal, renyi, statement_file, statement_text

if TYPE_CHECKING:
    from tacit.accounting.release import Release


CONDITION = "this holds only if the chain has converged, which nothing here can check"


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """The privacy of one fitted model. Made by `PrivacyStatement.of`; printed, saved, checked.

    epsilon, epsilon_replace: numerical part included, rounded up; infinite where a std is 0.
    mu, mu_replace: Gaussian-DP parameters of the noise alone. Exact where nothing is subsampled,
        else the figures without the gain of sampling (true, but larger than need be).
    public, not_covered: sentences, each one thing that is assumed public or left outside.
    noise_source: where the noise came from.
    relative_error: bound on the relative error of the probability of any noise value.
    tainted: why the noise protects nobody, such as "seeded noise"; empty in a real run.
    """

    epsilon: float
    delta: float
    mu: float
    releases: tuple[Release, ...]
    epsilon_replace: float
    mu_replace: float
    numerical_epsilon: float
    n_users: int
    public: tuple[str, ...]
    not_covered: tuple[str, ...]
    noise_source: str
    relative_error: float
    version: str
    tainted: str = ""

    unit: ClassVar[str] = "user: all ratings of one user"
    adjacency: ClassVar[str] = "zero-out"

    def __post_init__(self) -> None:
        names = [release.name for release in self.releases]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"releases: one or more of different names are needed, got {names}")
        if self.n_users < 1:
            raise ValueError(f"n_users must be at least 1, got {self.n_users}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must be between 0 and 1, got {self.delta}")

    @classmethod
    def of(  # noqa: PLR0913  (each is a separate fact of one run)
        cls,
        releases: tuple[Release, ...],
        *,
        delta: float,
        n_users: int,
        public: tuple[str, ...],
        not_covered: tuple[str, ...],
        noise_source: str,
        relative_error: float,
        version: str,
        tainted: str = "",
    ) -> PrivacyStatement:
        """The statement of these releases: the ledger's, each with the times it was spent.

        Guarantee:
            `epsilon` is an upper bound at `delta` for these releases together, under zero-out
            adjacency of one user. Proof: proofs/accounting.md.
        """

        def epsilon(adjacency: composition.Adjacency) -> float:
            return composition.epsilon(
                releases, delta, adjacency=adjacency, relative_error=relative_error
            )

        return cls(
            epsilon=epsilon("zero-out"),
            delta=delta,
            mu=composition.mu_zero_out(releases),
            releases=releases,
            epsilon_replace=epsilon("replace-one"),
            mu_replace=composition.mu_replace(releases),
            numerical_epsilon=composition.numerical_epsilon(releases, relative_error),
            n_users=n_users,
            public=public,
            not_covered=not_covered,
            noise_source=noise_source,
            relative_error=relative_error,
            version=version,
            tainted=tainted,
        )

    @property
    def why_not_private(self) -> str:
        """Empty for a private run, else the reason it is not one."""
        bare = [repr(release.name) for release in self.releases if release.std == 0]
        reasons = [self.tainted] if self.tainted else []
        if bare:
            reasons.append("no noise on " + ", ".join(bare))
        elif math.isinf(self.epsilon):
            reasons.append("epsilon is infinite")
        if self.conditional:
            reasons.append(CONDITION)
        return "; ".join(reasons)

    @property
    def conditional(self) -> bool:
        """Whether the figures hold only if a chain has converged."""
        return any(release.posterior for release in self.releases)

    @property
    def private(self) -> bool:
        return not self.why_not_private

    @property
    def guarantee(self) -> str:
        return "joint differential privacy" if self.private else "none"

    @property
    def rho(self) -> float:
        """The zero-concentrated DP parameter of the noise alone."""
        return renyi.rho(self.mu)

    @property
    def subsampled(self) -> bool:
        return any(release.sample_rate < 1 for release in self.releases)

    @property
    def attack_power(self) -> float:
        """The best detection rate of any test for one user's presence with 5% false alarms."""
        level = 0.05
        grown = math.exp(min(self.epsilon, 700.0))
        by_epsilon = min(grown * level + self.delta, 1 - (1 - self.delta - level) / grown)
        # Inexact probabilities help the attacker by half of numerical_epsilon on either side.
        inexact = math.exp(min(self.numerical_epsilon / 2, 700.0))
        by_mu = inexact * gdp.power(min(1.0, level * inexact), self.mu)
        return min(1.0, by_epsilon, by_mu)

    def epsilon_of(self, level: float, adjacency: composition.Adjacency = "zero-out") -> float:
        """The epsilon of a user who declared this privacy level, from 0 to 1.

        `epsilon` itself is that of level 1, which nobody exceeds. A level is its user's own
        business: hand this figure to her only. docs/personal-privacy.md
        """
        return personal.epsilon(
            self.releases,
            self.delta,
            level,
            adjacency=adjacency,
            relative_error=self.relative_error,
        )

    def to_json(self) -> str:
        """Strict JSON; infinite figures are the string "infinity". Its first field is `status`."""
        return statement_file.dump(self)

    @classmethod
    def from_json(cls, text: str) -> PrivacyStatement:
        """The inverse of `to_json`.

        Refuses unknown or missing fields, wrong types, another schema, and figures that the
        releases beside them contradict (a subsampled epsilon alone is taken as written).
        """
        return statement_file.load(text, cls)

    def plain(self) -> str:
        """A paragraph for readers who do not know differential privacy."""
        return statement_text.plain(self)

    def __str__(self) -> str:
        return statement_text.full(self)
