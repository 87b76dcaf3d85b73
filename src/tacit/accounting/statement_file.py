# SPDX-License-Identifier: Apache-2.0
"""Privacy statements as strict JSON: every field known, typed and consistent with the releases."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from tacit.accounting import composition
from tacit.accounting.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from tacit.accounting.statement import PrivacyStatement

SCHEMA = "tacit.privacy-statement/1"

# What `of` is given, and what it computes from it.
_GIVEN = (
    "delta",
    "n_users",
    "public",
    "not_covered",
    "noise_source",
    "relative_error",
    "version",
    "tainted",
)
_FIGURES = ("epsilon", "mu", "epsilon_replace", "mu_replace", "numerical_epsilon")
# Derived words and figures, written for readers of the file and checked when it is read.
_DERIVED = ("private", "guarantee", "unit", "adjacency", "rho")
_RELEASE = tuple(field.name for field in dataclasses.fields(Release))
_TOLERANCE = 1e-9


def dump(statement: PrivacyStatement) -> str:
    """The statement as JSON text; see `PrivacyStatement.to_json`."""
    names = dict.fromkeys(
        ("private", "guarantee", "epsilon", "delta", *_FIGURES, *_DERIVED, *_GIVEN)
    )
    content: dict[str, Any] = {"status": _status(statement), "schema": SCHEMA}
    content |= {name: _plain(getattr(statement, name)) for name in names}
    content["releases"] = [
        {name: _plain(getattr(release, name)) for name in _RELEASE}
        for release in statement.releases
    ]
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load(text: str, statement: type[PrivacyStatement]) -> PrivacyStatement:
    """The statement that `dump` wrote; ValueError names the first field that is wrong."""
    content = _parsed(text)
    if content.get("schema") != SCHEMA:
        raise ValueError(f"schema: expected {SCHEMA!r}, got {content.get('schema')!r}")
    _same_fields(
        content, ("status", "schema", "releases", *_GIVEN, *_FIGURES, *_DERIVED), "statement"
    )
    given = {name: _READERS[name](content[name], name) for name in _GIVEN}
    figures = {name: _number(content[name], name) for name in _FIGURES}
    fields: dict[str, Any] = {**given, **figures, "releases": _releases(content["releases"])}
    read = statement(**fields)
    for name, expected in _expected(read).items():
        if not _close(figures[name], expected):
            raise ValueError(
                f"{name}: the file says {figures[name]}, its releases give {expected}; "
                "the statement was changed by hand"
            )
    _derived(content, read)
    return read


def _expected(read: PrivacyStatement) -> dict[str, float]:
    """What the releases give; a subsampled epsilon takes too long to be computed on every load."""
    if not read.subsampled:
        given = {name: getattr(read, name) for name in _GIVEN}
        again = type(read).of(read.releases, **given)
        return {name: getattr(again, name) for name in _FIGURES}
    return {
        "mu": composition.mu_zero_out(read.releases),
        "mu_replace": composition.mu_replace(read.releases),
        "numerical_epsilon": composition.numerical_epsilon(read.releases, read.relative_error),
    }


def _derived(content: dict[str, Any], read: PrivacyStatement) -> None:
    """Refuse words that the figures beside them contradict."""
    for name, wanted in [("status", _status(read))] + [(n, getattr(read, n)) for n in _DERIVED]:
        found = _number(content[name], name) if name == "rho" else content[name]
        same = _close(found, wanted) if name == "rho" else found == wanted and _kin(found, wanted)
        if not same:
            raise ValueError(f"{name}: expected {_plain(wanted)!r}, got {content[name]!r}")


def _status(statement: PrivacyStatement) -> str:
    why = statement.why_not_private
    return f"NOT PRIVATE: {why}" if why else "private"


def _plain(value: Any) -> Any:
    """A value that strict JSON can hold."""
    if isinstance(value, float) and math.isinf(value):
        return "infinity"
    return list(value) if isinstance(value, tuple) else value


def _parsed(text: str) -> dict[str, Any]:
    def refuse(constant: str) -> float:
        raise ValueError(f"privacy statement: {constant} is not strict JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("privacy statement: a field appears twice")
        return found

    try:
        content = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"privacy statement: not JSON ({error})") from None
    if not isinstance(content, dict):
        raise _wrong("privacy statement", "a JSON object", content)
    return content


def _same_fields(content: dict[str, Any], wanted: tuple[str, ...], where: str) -> None:
    for name in wanted:
        if name not in content:
            raise ValueError(f"{where}: field {name!r} is missing")
    for name in content:
        if name not in wanted:
            raise ValueError(f"{where}: unknown field {name!r}")


def _releases(value: Any) -> tuple[Release, ...]:
    if not isinstance(value, list):
        raise _wrong("releases", "a list", value)
    read = []
    for index, item in enumerate(value):
        where = f"releases[{index}]"
        if not isinstance(item, dict):
            raise _wrong(where, "an object", item)
        _same_fields(item, _RELEASE, where)
        fields = {name: _READERS[name](item[name], f"{where}.{name}") for name in _RELEASE}
        read.append(Release(**fields))
    return tuple(read)


def _number(value: Any, where: str) -> float:
    if value == "infinity":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, 'a number or "infinity"', value)
    if abs(value) > sys.float_info.max:
        raise ValueError(f'{where}: too large for a number; infinite is written "infinity"')
    return float(value)


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise _wrong(where, "a whole number below 2^63", value)
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "text", value)
    return value


def _truth(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "true or false", value)
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(where, "a list of texts", value)
    return tuple(_text(item, f"{where}[{index}]") for index, item in enumerate(value))


def _wrong(where: str, wanted: str, found: Any) -> ValueError:
    return ValueError(f"{where}: expected {wanted}, got {json.dumps(found)[:60]}")


def _kin(found: Any, wanted: Any) -> bool:
    """1 == true in Python; in a statement it is a wrong type."""
    return type(found) is type(wanted)


def _close(found: float, wanted: float) -> bool:
    return found == wanted or math.isclose(found, wanted, rel_tol=_TOLERANCE)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "delta": _number,
    "n_users": _whole,
    "public": _texts,
    "not_covered": _texts,
    "noise_source": _text,
    "relative_error": _number,
    "version": _text,
    "tainted": _text,
    "name": _text,
    "l2": _number,
    "std": _number,
    "times": _whole,
    "size": _whole,
    "cone": _truth,
    "partner": _text,
    "sample_rate": _number,
    "posterior": _truth,
}
