# SPDX-License-Identifier: Apache-2.0
"""Releases of an earlier training whose model another training starts from.

The two trainings are one mechanism that composes adaptively, so they stand in one list, under names
that tell them apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.accounting.release import Release

PREFIX = "start: "


def earlier(releases: Sequence[Release]) -> tuple[Release, ...]:
    """The same releases, as those of the training before.

    Guarantee:
        Together with those of the training that starts from it they bound what both tell about one
        user, as if she had been in both. proofs/accounting.md
    """
    return tuple(
        replace(
            each,
            name=PREFIX + each.name,
            partner=PREFIX + each.partner if each.partner else "",
        )
        for each in releases
    )


def parted(
    releases: Sequence[Release],
) -> tuple[tuple[Release, ...], tuple[Release, ...]]:
    """Those of the trainings before, and those of this one."""
    before = tuple(each for each in releases if each.name.startswith(PREFIX))
    return before, tuple(each for each in releases if not each.name.startswith(PREFIX))
