# SPDX-License-Identifier: Apache-2.0
"""What a paper says of its experiment, and whether it came out so here."""

from __future__ import annotations

from typing import NamedTuple


class Relation(NamedTuple):
    """A relation of the paper, what was found, and whether it holds.

    required: the run fails where such a relation does not hold; others are reported only.
    """

    claim: str
    found: str
    holds: bool
    required: bool = True


def verdict(relations: list[Relation]) -> int:
    """Print all of them; 1 if a required one fails."""
    for each in relations:
        failed = "FAILED" if each.required else "not so here"
        print(f"{'holds' if each.holds else failed:12s} {each.claim}: {each.found}")
    return int(any(each.required and not each.holds for each in relations))
