# SPDX-License-Identifier: Apache-2.0
"""What a caller of `read` asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from tacit.data.errors import DataError

_CHOICES = {
    "unknown_items": ("refuse", "drop"),
    "duplicates": ("refuse", "last"),
    "out_of_scale": ("refuse", "clip"),
    "feedback": ("explicit", "implicit"),
    "privacy_unit": ("level", "epsilon"),
    "user_axis": ("rows", "columns", None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keywords of `read`, which documents them."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    timestamp: str | None = None
    privacy: str | None = None
    privacy_unit: Literal["level", "epsilon"] = "level"
    query: str | None = None
    items: Any = "source"
    unknown_items: Literal["refuse", "drop"] = "refuse"
    duplicates: Literal["refuse", "last"] = "refuse"
    scale: tuple[float, float] | None = None
    out_of_scale: Literal["refuse", "clip"] = "refuse"
    feedback: Literal["explicit", "implicit"] = "explicit"
    user_axis: Literal["rows", "columns"] | None = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise DataError(f"{name} must be one of {', '.join(map(repr, choices))}")
        if self.out_of_scale == "clip" and self.scale is None:
            raise DataError("out_of_scale='clip' needs a scale to clip to: scale=(low, high)")

    @property
    def given(self) -> list[str]:
        """The keywords that are not left at their defaults."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not each.default]

    @property
    def binary(self) -> bool:
        """Every row counts 1."""
        return self.feedback == "implicit" and self.rating is None

    @property
    def needs_timestamp(self) -> bool:
        """Rows of one pair can differ, and the last of them is wanted."""
        return self.duplicates == "last" and not self.binary
