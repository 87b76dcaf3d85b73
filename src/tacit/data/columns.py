# SPDX-License-Identifier: Apache-2.0
"""Which column is which: named by the caller, else found by its usual names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.data.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

USUAL_NAMES = {
    role: tuple(names.split())
    for role, names in {
        "user": "user user_id uid user_name customer customer_id reviewer reviewer_id "
        "visitor visitor_id account account_id member member_id",
        "item": "item item_id iid movie movie_id product product_id asin parent_asin "
        "book book_id isbn song song_id track track_id artist artist_id anime anime_id "
        "game game_id joke joke_id article article_id business business_id",
        "rating": "rating ratings score value stars star_rating overall",
        "timestamp": "timestamp time ts date datetime rated_at unix_review_time",
        "privacy": "privacy privacy_level own_privacy",
        "id": "id",
        "title": "title name item_name item_title movie_title product_name product_title",
    }.items()
}
"""Case, spaces, hyphens and underscores do not matter: userId, USER ID and user_id are one name."""


def plain(name: str) -> str:
    """A name without case and punctuation."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_PLAIN = {role: {plain(name) for name in names} for role, names in USUAL_NAMES.items()}
_OPPOSITE = {"user": "item", "item": "user"}


def pick(columns: Sequence[str], role: str, named: str | None = None) -> str | None:
    """The column that plays `role`, or None where no usual name is among the columns.

    Messages never list the columns: in a table that is turned over, or a file without a header
    line, the "names" are somebody's id or rating.
    """
    if named is None:
        found = [name for name in columns if plain(name) in _PLAIN[role]]
        if len(found) > 1:
            raise DataError(
                f"columns {', '.join(map(repr, found))} could each be the {role} column; "
                f"say which: {role}=..."
            )
        return found[0] if found else None
    if plain(named) in _PLAIN.get(_OPPOSITE.get(role, ""), ()):
        raise DataError(
            f"{role}={named!r} is a usual name of an {_OPPOSITE[role]} column: the orientation "
            "looks wrong; swap user= and item=, or rename the column if it is right"
        )
    alike = [name for name in columns if name.casefold() == named.casefold()]
    if named not in alike:
        raise DataError(
            f"{role}={named!r}: none of the {len(columns)} columns has that name"
            + ("; the case of letters matters" if alike else "")
        )
    if len(alike) > 1:
        raise DataError(
            f"{role}={named!r}: {len(alike)} columns have that name, or differ from it only by the "
            "case of letters; rename one"
        )
    return named


def need(columns: Sequence[str], role: str, named: str | None = None) -> str:
    """The column that plays `role`; its absence is an error."""
    found = pick(columns, role, named)
    if found is None:
        raise DataError(
            f"no {role} column: none of the {len(columns)} columns has one of the usual names "
            f"({', '.join(USUAL_NAMES[role])}); name it: {role}=..."
        )
    return found
