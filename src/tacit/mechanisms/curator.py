# SPDX-License-Identifier: Apache-2.0
"""The only door from raw data to anything released. Order fixed: spend, add up, add noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from tacit.accounting.release import Release
from tacit.engines.base import HoldsRows
from tacit.mechanisms.gaussian import LARGEST_STD, SMALLEST_STD, add_noise
from tacit.mechanisms.ledger import Ledger
from tacit.mechanisms.posterior import chain
from tacit.mechanisms.sampling import KEY_BYTES, Sampled
from tacit.mechanisms.unprotected import RawRows, raw_cost

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Plan
    from tacit.contributions.base import Contribution, Part, Sums
    from tacit.engines.base import Engine
    from tacit.mechanisms.entropy import NoiseSource
    from tacit.mechanisms.posterior import Posterior
    from tacit.mechanisms.unprotected import RawComputation

Result = TypeVar("Result")
_AT_A_TIME = 1 << 14  # numbers that stay in the cache
NoisySums = dict[str, "NDArray[np.float64]"]


class SumError(RuntimeError):
    """A sum over users broke off, after its release was charged.

    Guarantee: names the release and the kind of error only, and nothing is chained to it.
        proofs/curator.md
    """


class Curator(Protocol):
    """All that a solver is given: public facts, the calibrated plan, noisy sums from the plan."""

    @property
    def public(self) -> Public:
        """Facts that are public by assumption."""
        ...

    @property
    def plan(self) -> Plan:
        """What may be released, with its noise."""
        ...

    def noisy_sum(self, contribution: Contribution, release: str) -> NoisySums:
        """Each part p of the contribution, released once as the planned release "<release>.<p>"."""
        ...

    def posterior_sample(self, target: Posterior, release: str, steps: int) -> NDArray[np.float64]:
        """Item factors at the end of a chain, charged as one exact sample of the posterior.

        Guarantee:
            None for the chain. proofs/posterior.md
        """
        ...


def planned_release(plan: Plan, part: Part, name: str) -> Release:
    """What releasing `part` costs: the plan's noise relative to the bound, times this part's bound.

    The standard deviation always follows from the bound of what is really summed, so that no plan
    can pair a sum with the noise of a smaller one. A name outside the plan is left to the ledger.
    """
    if name not in plan:
        return Release(name, part.l2, std=0.0, size=part.size, cone=part.cone)
    planned = plan[name]
    std = planned.std * (part.l2 / planned.l2)
    return Release(
        name,
        part.l2,
        std,
        size=part.size,
        cone=part.cone,
        partner=planned.partner,
        sample_rate=planned.sample_rate,
    )


def check_grid(part: Part, cost: Release, n_users: int) -> None:
    """By public bounds the sum with its noise fits int64, and the noise the sampler."""
    std = cost.std / part.step
    if std != 0 and not SMALLEST_STD * math.sqrt(2) <= std <= LARGEST_STD:
        raise ValueError(
            f"release {cost.name!r}: noise of {std:.3g} grid steps is outside what can be drawn "
            f"exactly; epsilon is too {'large' if std < LARGEST_STD else 'small'} for this release"
        )
    if part.limit * n_users >= 1 << 62:
        raise ValueError(
            f"part {part.name!r}: {n_users} users of at most {part.limit} grid steps each could "
            "overflow 64-bit integers; use a coarser grid"
        )


def charged(
    ledger: Ledger, contribution: Contribution, release: str, n_users: int
) -> list[tuple[Part, Release]]:
    """Spend what releasing every part of the contribution once costs, or refuse all of it."""
    parts = contribution.parts
    costs = [planned_release(ledger.plan, part, f"{release}.{part.name}") for part in parts]
    for part, cost in zip(parts, costs, strict=True):
        check_grid(part, cost, n_users)
        if cost.sample_rate < 1 and len(parts) > 1:
            raise ValueError(
                f"release {cost.name!r} is planned for a sample of the users, but the parts of "
                f"{release!r} would share one: each is priced as if it had its own, so only a sum "
                "of one part can be sampled"
            )
    ledger.charge(costs)
    return list(zip(parts, costs, strict=True))


def charged_sample(ledger: Ledger, target: Posterior, release: str) -> Release:
    """Spend what one sample of the posterior costs: the temperature follows the loss's bound."""
    size, bound = target.n_items * target.rank, target.loss_bound
    std = 0.0  # a name outside the plan is left to the ledger
    if release in ledger.plan:
        std = ledger.plan[release].std * (bound / ledger.plan[release].l2)
    cost = Release(release, bound, std, size=size, posterior=True)
    ledger.charge([cost])
    return cost


class DataCurator:
    """The curator over real data."""

    def __init__(
        self,
        engine: Engine,
        public: Public,
        plan: Plan,
        source: NoiseSource,
        *,
        journal: Path | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.public = public
        self.plan = plan
        self.ledger = Ledger(plan, journal)
        self._engine = engine
        self._source = source
        self._progress = progress

    def noisy_sum(self, contribution: Contribution, release: str) -> NoisySums:
        costs = charged(self.ledger, contribution, release, self._engine.n_users)
        sums = self._total(self._sampled(contribution, costs), release)
        noisy = {part.name: self._released(sums.pop(part.name), part, cost) for part, cost in costs}
        self._progress(release)
        return noisy

    def posterior_sample(self, target: Posterior, release: str, steps: int) -> NDArray[np.float64]:
        cost = charged_sample(self.ledger, target, release)
        V = chain(lambda each: self._total(each, release), target, cost.std, self._source, steps)
        self._progress(release)
        return V

    def raw_result(self, computation: RawComputation[Result], release: str) -> Result:
        cost = raw_cost(self.plan, release)
        engine = self._engine
        if not isinstance(engine, HoldsRows):
            raise TypeError(
                f"a {type(engine).__name__} hands out no rows, which release {release!r} works on; "
                "read the ratings into memory"
            )
        rows = RawRows(
            self.public.n_users, self.public.n_items, engine.threads, self._source, engine.blocks
        )
        self.ledger.charge([cost])
        result = self._seen(lambda: computation(rows), release)
        self._progress(release)
        return result

    def _sampled(
        self, contribution: Contribution, costs: list[tuple[Part, Release]]
    ) -> Contribution:
        """The contribution over a fresh secret sample of the users, where the plan says so."""
        rate = min(cost.sample_rate for _, cost in costs)
        if rate == 1:
            return contribution
        return Sampled(contribution, rate, self._source.random_bytes(KEY_BYTES))

    def _total(self, contribution: Contribution, release: str) -> Sums:
        """The exact sums."""
        return self._seen(lambda: self._engine.total(contribution), release)

    def _seen(self, work: Callable[[], Result], release: str) -> Result:
        """Work on raw data. An error in it is replaced: its words may hold a user's values."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - whatever it is, it has seen raw data
            kind = type(error).__name__
        raise SumError(
            f"release {release!r} failed while it was added up ({kind}), and counts as spent; the "
            "error's own words are withheld, as they may hold a user's values: try the same "
            "contribution on made-up ratings (tacit.datasets)"
        )

    def _released(self, exact: NDArray[np.int64], part: Part, cost: Release) -> NDArray[np.float64]:
        """The sum with its noise, in real units."""
        std = cost.std / part.step
        noisy = add_noise(exact, std, self._source, symmetric=part.symmetric)
        return _in_real_units(noisy, part.step)


def _in_real_units(noisy: NDArray[np.int64], step: float) -> NDArray[np.float64]:
    """Noisy * step in the memory of `noisy`: sums may be large, and fresh memory is slow."""
    steps = noisy.reshape(-1)
    real = steps.view(np.float64)
    for start in range(0, len(steps), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        real[some] = steps[some] * step
    return real.reshape(noisy.shape)
