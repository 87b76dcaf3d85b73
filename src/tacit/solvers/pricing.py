# SPDX-License-Identifier: Apache-2.0
"""Planned releases of a question, with the bounds that the question itself has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.accounting.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacit.contributions import Contribution


def priced(
    question: Contribution,
    release: str,
    shares: Mapping[str, float],
    *,
    times: int = 1,
    partners: Mapping[str, str] | None = None,
) -> tuple[Release, ...]:
    """For each part its release, which gets `shares[part]` of mu^2 over all its times.

    Bounds may depend on public settings only, so any values of the right shape will do for what
    the question takes from earlier answers. partners: see `Release.partner`.
    """
    return tuple(
        Release.share(
            f"{release}.{part.name}",
            l2=part.l2,
            share=shares[part.name],
            times=times,
            size=part.size,
            cone=part.cone,
            partner=(partners or {}).get(part.name, ""),
        )
        for part in question.parts
    )
