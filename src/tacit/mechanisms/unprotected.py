# SPDX-License-Identifier: Apache-2.0
"""Raw ratings for what cannot be private: its price is infinite, and the statement says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from tacit.accounting.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tacit.accounting.release import Plan
    from tacit.data.block import UserBlock
    from tacit.mechanisms.curator import Curator
    from tacit.mechanisms.entropy import NoiseSource

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RawRows:
    """Every user's ratings in the clear, and what it takes to work on them.

    blocks: all users in their order, afresh with every call.
    """

    n_users: int
    n_items: int
    threads: int
    source: NoiseSource
    blocks: Callable[[], Iterator[UserBlock]]

    def __repr__(self) -> str:
        return f"RawRows(n_users={self.n_users}, n_items={self.n_items}, <private rows>)"


class RawComputation(Protocol[Result_co]):
    """Anything made of raw rows."""

    def __call__(self, rows: RawRows) -> Result_co:
        """The result, which may reveal anything about anybody."""
        ...

    def rehearsed(self, n_users: int, n_items: int) -> Result_co:
        """A result of the same shape without any ratings, for dry runs."""
        ...


@runtime_checkable
class RawCurator(Protocol):
    """A curator that may hand rows out; one that only adds up has no such method."""

    def raw_result(self, computation: RawComputation[Result], release: str) -> Result:
        """What the computation makes of raw rows, at the planned release's infinite price."""
        ...


def raw_result(curator: Curator, computation: RawComputation[Result], release: str) -> Result:
    """The curator's answer, if it is one that hands rows out.

    Guarantee:
        The release is charged, at an infinite mu, before a row is handed out. proofs/curator.md.
    """
    if not isinstance(curator, RawCurator):
        raise TypeError(
            f"a {type(curator).__name__} answers noisy sums only, and release {release!r} would "
            "work on raw ratings"
        )
    return curator.raw_result(computation, release)


def unprotected(release: str) -> Release:
    """How a plan declares a raw result: without noise, whatever the budget.

    Its bound is a placeholder: nothing bounds what one user weighs in it.

    Guarantee:
        mu is infinite, so no plan that holds it meets a finite epsilon, and a statement of it is
        not private. proofs/curator.md.
    """
    return Release(release, l2=1.0, std=0.0)


def raw_cost(plan: Plan, release: str) -> Release:
    """What the raw result costs; refused where the plan has noise for it, which it never gets."""
    if release in plan and plan[release].std != 0:
        raise ValueError(
            f"release {release!r} is planned with noise, but a raw result has none: it cannot be "
            "private, so plan it as unprotected and train with epsilon=math.inf"
        )
    return unprotected(release)
