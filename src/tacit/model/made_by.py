# SPDX-License-Identifier: Apache-2.0
"""How a model was made: public facts for whoever finds its file."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeBy:
    """The algorithm, its hyper-parameters (public by assumption) and the library's version."""

    solver: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    version: str = ""

    @classmethod
    def of(cls, solver: Any, version: str) -> MadeBy:
        """Of a solver, a frozen dataclass of its hyper-parameters; folders stay unnamed."""
        parameters = {
            one.name: _plain(getattr(solver, one.name))
            for one in dataclasses.fields(solver)
            if not one.metadata.get("of_this_machine")
        }
        return cls(type(solver).__name__, parameters, version)


def _plain(value: Any) -> Any:
    """A value that strict JSON can hold."""
    if dataclasses.is_dataclass(value):
        shown = [one.name for one in dataclasses.fields(value) if one.repr]
        return {name: _plain(getattr(value, name)) for name in shown}
    if isinstance(value, float) and not math.isfinite(value):
        return "infinity" if value > 0 else str(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__
