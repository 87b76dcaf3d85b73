# SPDX-License-Identifier: Apache-2.0
"""What adds up: one method, so that a new engine has nothing else to get right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.contributions.base import Contribution, Sums
    from tacit.data.block import UserBlock


class Engine(Protocol):
    """Holds raw data and answers sums over all users: exact ones, the same from every engine.

    Its blocks say at which position among all users they begin (`UserBlock.first`), the same for
    every sum of one engine: secret samples of the users go by it.
    """

    @property
    def n_users(self) -> int:
        """Public number of users, which bounds every sum."""
        ...

    def total(self, contribution: Contribution) -> Sums:
        """The contribution summed over all users."""
        ...


@runtime_checkable
class HoldsRows(Protocol):
    """An engine that can hand its rows out, which only `mechanisms/unprotected.py` asks for."""

    @property
    def threads(self) -> int:
        """How many work at a time."""
        ...

    def blocks(self) -> Iterator[UserBlock]:
        """All users in their order, in blocks of any size."""
        ...
