# SPDX-License-Identifier: Apache-2.0
"""From item ids, as users write them, to positions in the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tacit.serving.columns import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ItemId = int | str
UnknownItems = Literal["refuse", "drop"]

UNKNOWN = -1


class ItemIndex:
    """Where each item of a catalogue is; `UNKNOWN` for what is not in it."""

    def __init__(self, ids: NDArray[np.int64] | NDArray[np.object_]) -> None:
        self._listed: list[ItemId] = ids.tolist()
        self._where = {item: position for position, item in enumerate(self._listed)}
        if len(self._where) != len(self._listed):
            raise ValueError("item ids must be different from each other")
        self.kind = "strings" if ids.dtype == np.object_ else "integers"

    def __len__(self) -> int:
        return len(self._listed)

    def id_of(self, position: int) -> ItemId:
        return self._listed[position]

    def positions(self, items: Iterable[Any]) -> NDArray[np.int32]:
        """The position of each item."""
        try:
            found = [self._where.get(item, UNKNOWN) for item in items]
        except TypeError:
            raise ValueError(f"item ids must be {self.kind}, as in this model") from None
        return np.array(found, np.int32)

    def positions_in_column(self, column: Any) -> NDArray[np.int32]:
        """The position of each item of an Arrow column of integers or strings."""
        import pyarrow as pa  # noqa: PLC0415 (most users never bring a table)
        import pyarrow.compute as pc  # noqa: PLC0415

        wanted = pa.string() if self.kind == "strings" else pa.int64()
        column = decoded(column)
        kind = column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (is_text if self.kind == "strings" else pa.types.is_integer(kind)):
            raise ValueError(f"the item column holds {kind}; this model's item ids are {self.kind}")
        try:
            plain = column.cast(wanted)
        except pa.ArrowException:
            plain = None  # what the library says quotes a value
        if plain is None:
            raise ValueError("some item ids are beyond 64-bit integers")
        found = pc.index_in(plain, value_set=pa.array(self._listed, wanted))
        positions = pc.fill_null(found, UNKNOWN)
        return np.asarray(positions, np.int32)

    def require(self, positions: NDArray[np.int32], what: str) -> NDArray[np.int32]:
        """The positions, none of which may be unknown."""
        if np.any(positions == UNKNOWN):
            raise KeyError(
                f"some of {what} are not in this model's catalogue of {len(self)} items, whose ids "
                f"are {self.kind}"
            )
        return positions
