# SPDX-License-Identifier: Apache-2.0
"""What adds up: one method, so that a new engine has nothing else to get right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tacit.contributions.base import Contribution, Sums


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
