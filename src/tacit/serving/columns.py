# SPDX-License-Identifier: Apache-2.0
"""Which column of a table holds users, items and ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The same names as the reader of training knows (a test holds them equal): what is shipped to
# serve recommendations does not carry the reader.
USUAL_NAMES = {
    "user": "user user_id uid user_name customer customer_id reviewer reviewer_id "
    "visitor visitor_id account account_id member member_id",
    "item": "item item_id iid movie movie_id product product_id asin parent_asin "
    "book book_id isbn song song_id track track_id artist artist_id anime anime_id "
    "game game_id joke joke_id article article_id business business_id",
    "rating": "rating ratings score value stars star_rating overall",
}


def pick(names: Sequence[str], named: Mapping[str, str] | None = None) -> dict[str, str]:
    """For each role the column that plays it; a role without a column is absent.

    Messages name columns of the caller's own wording only: in a table without a header line the
    "names" are somebody's data.
    """
    chosen = dict(named or {})
    strange = set(chosen) - set(USUAL_NAMES)
    if strange:
        raise ValueError(f"columns= may name {', '.join(USUAL_NAMES)}, not {sorted(strange)}")
    for role, usual in USUAL_NAMES.items():
        if role in chosen:
            if chosen[role] not in names:
                raise ValueError(f"there is no column {chosen[role]!r} for the {role}")
            continue
        known = {_plain(name) for name in usual.split()}
        found = [name for name in names if _plain(name) in known]
        if len(found) > 1:
            listed = ", ".join(map(repr, found))
            raise ValueError(f"columns {listed} could each be the {role} column; keep one")
        if found:
            chosen[role] = found[0]
    if "item" not in chosen:
        raise ValueError("no item column: call the columns user, item and rating")
    return chosen


def decoded(column: Any) -> Any:
    """An Arrow column without dictionary and views, which many of Arrow's functions do not know."""
    import pyarrow as pa  # noqa: PLC0415 (most users never bring a table)

    kind = column.type
    if pa.types.is_dictionary(kind):
        chunks = [decoded(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, None if chunks else pa.string())
    return column.cast(pa.string()) if pa.types.is_string_view(kind) else column


def _plain(name: str) -> str:
    """A name without case and punctuation."""
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())
