# SPDX-License-Identifier: Apache-2.0
"""What all verbs share: options in groups, one line for every error, JSON or text."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import sys
import traceback
import warnings
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tacit.cli import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BAD_INPUT = 2

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """A function as a verb: an argument that is a dataclass of options becomes those options.

    Errors end the program with one line on stderr: what tacit says itself is printed; a message of
    another library might quote a rating and is withheld.
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(function)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            values = {field.name: given.pop(field.name) for field in fields(kind)}
            given[name] = lambda kind=kind, values=values: kind(**values)
        try:
            with interrupts.watched(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = {n: value() if n in groups else value for n, value in given.items()}
                function(**made)
        except KeyboardInterrupt as stop:
            interrupts.tell(stop)
            raise typer.Exit(interrupts.INTERRUPTED) from None
        except (typer.Exit, typer.BadParameter):
            raise
        except BrokenPipeError:  # whoever reads stdout has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except Exception as error:  # noqa: BLE001  (whatever it is: one line, no traceback)
            if interrupts.asked():  # a library took the signal and failed in its own way
                interrupts.tell()
                raise typer.Exit(interrupts.INTERRUPTED) from None
            complain(told(error))
            raise typer.Exit(BAD_INPUT if _is_bad_input(error) else 1) from None

    parameters = _flat(function, hints, groups)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    del run.__wrapped__
    return run


def _flat(
    function: Callable[..., None], hints: Mapping[str, Any], groups: Mapping[str, Any]
) -> list[inspect.Parameter]:
    """The function's parameters, each group replaced by its fields."""
    flat = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in groups:
            flat.append(
                parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            )
            continue
        inner = get_type_hints(groups[name], include_extras=True)
        flat += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=inner[field.name],
            )
            for field in fields(groups[name])
        ]
    return flat


def say(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")


def complain(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"tacit: {text}\n")


def say_json(described: Mapping[str, Any]) -> None:
    """One strict JSON object: infinity is the string "infinity", what is not a number is null."""
    say(json.dumps(_strict(described), indent=1, allow_nan=False, ensure_ascii=False))


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    return value


def _is_bad_input(error: Exception) -> bool:
    return isinstance(error, (ValueError, KeyError, OSError)) and _is_ours(error)


def _is_ours(error: Exception) -> bool:
    """Whether tacit raised it; its own messages hold nothing private."""
    if isinstance(error, OSError):
        return True
    last = list(traceback.walk_tb(error.__traceback__))[-1][0]
    return str(last.f_globals.get("__name__", "")).startswith("tacit.")


def told(error: Exception) -> str:
    """What may be shown of an error: tacit's own words, or its kind."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}"
    if not _is_ours(error):
        kind = f"{type(error).__module__}.{type(error).__name__}"
        return f"unexpected {kind}; its message is withheld because it may quote ratings"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    text = text.replace("math.inf", "inf")
    return _OPTION.sub(_as_option, " ".join(text.split())) or type(error).__name__


# Messages speak of keywords, such as unknown_items='drop'; here they are options.
_OPTION = re.compile(
    r"\b(user|item|rating|timestamp|query|items|unknown_items|duplicates|scale|out_of_scale|"
    r"feedback|keep)=(?:'([^']*)')?"
)


def _as_option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if name == "feedback":
        return "--implicit" if value == "implicit" else "no --implicit"
    quoted = f"'{value}'" if value and " " in value else value
    return f"--{name.replace('_', '-')}" + (f" {quoted}" if quoted else "")
