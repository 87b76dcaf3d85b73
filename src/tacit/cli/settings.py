# SPDX-License-Identifier: Apache-2.0
"""Options that choose an algorithm, its settings and the budget."""

from __future__ import annotations

import dataclasses
import types
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  (an option)
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from tacit.accounting.calibrate import default_delta
from tacit.cli.cluster import Cluster
from tacit.cli.verb import AsJson, complain
from tacit.model.item_model import load
from tacit.solvers import SOLVERS, UNPROTECTED, Solver
from tacit.solvers.warm_start import WarmStart
from tacit.training import Budget

# What `tacit.fit` trains when it is given no solver: the first of these that there is.
DEFAULT = next(name for name in ("als", "item-offsets") if name in SOLVERS)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm from the table of solvers, with settings by the names of its fields."""

    algorithm: Annotated[
        str,
        typer.Option("--algorithm", "-a", help=f"One of {', '.join(SOLVERS | UNPROTECTED)}."),
    ] = DEFAULT
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the algorithm, such as rank=64; repeatable (tacit algorithms).",
        ),
    ] = None
    start: Annotated[
        Path | None,
        typer.Option(
            help="Folder of an earlier model to begin from: it must be private itself, unless the "
            "budget is inf.",
            show_default=False,
        ),
    ] = None
    start_is_public: Annotated[
        bool,
        typer.Option(
            "--start-is-public",
            help="Declare that --start has seen public ratings alone. The statement will say so.",
        ),
    ] = False

    def solver(self, *, implicit: bool = False) -> Solver:
        """The solver; one that has a field `feedback` is told of implicit feedback."""
        kinds = SOLVERS | UNPROTECTED
        if self.algorithm not in kinds:
            raise ValueError(
                f"no algorithm {self.algorithm!r}; there are {', '.join(sorted(kinds))}"
            )
        kind: Any = kinds[self.algorithm]
        given = dict(_pair(each) for each in self.setting or [])
        if implicit and "feedback" in known_settings(kind):
            given.setdefault("feedback", "implicit")
        values = {name: _value(kind, name, text) for name, text in given.items()}
        solver: Solver = kind(**values | self._start(kind))
        return solver

    def _start(self, kind: Any) -> dict[str, Any]:
        """The field of that name, from --start."""
        if self.start is None:
            if self.start_is_public:
                raise ValueError("--start-is-public says something of --start, which is not given")
            return {}
        if not takes_start(kind):
            able = [name for name, each in (SOLVERS | UNPROTECTED).items() if takes_start(each)]
            raise ValueError(f"{self.algorithm} takes no --start; these do: {', '.join(able)}")
        model = load(self.start)
        return {
            "start": WarmStart(model, "public ratings")
            if self.start_is_public
            else WarmStart(model)
        }


@dataclass(frozen=True, slots=True)
class Cost:
    """The budget."""

    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The whole budget; inf trains without privacy.")
    ]
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            "-d",
            help="By default the largest power of ten up to 1 / (10 users).",
            show_default=False,
        ),
    ] = None

    def __post_init__(self) -> None:
        Budget(self.epsilon, 0.5 if self.delta is None else self.delta)

    def budget(self, n_users: int) -> Budget:
        """The budget for so many users; a delta that protects nobody is warned of."""
        budget = Budget(self.epsilon, default_delta(n_users) if self.delta is None else self.delta)
        if budget.delta > 1 / n_users:
            complain(
                f"warning: --delta {budget.delta:g} is above 1/n with n = {n_users} users: such a "
                "delta allows publishing one user's whole row; use a smaller one"
            )
        return budget


@dataclass(frozen=True, slots=True)
class Running(Cluster):
    """How a training is carried out."""

    threads: Annotated[
        int | None, typer.Option(min=1, help="All cores by default.", show_default=False)
    ] = None
    journal: Annotated[
        Path | None,
        typer.Option(help="Append every spend to this file before it happens.", show_default=False),
    ] = None
    as_json: AsJson = False


def takes_start(kind: Any) -> bool:
    """Whether a solver can begin from an earlier model."""
    return WarmStart in get_args(get_type_hints(kind).get("start"))


def known_settings(kind: Any) -> dict[str, Any]:
    """The settings of a solver with their defaults."""
    return {
        field.name: None if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(kind)
        if field.init
    }


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set wants NAME=VALUE, got {text!r}")
    return name.strip().replace("-", "_"), value.strip()


def _value(kind: Any, name: str, text: str) -> Any:
    """The text as what the field of this name holds."""
    if name not in known_settings(kind):
        known = ", ".join(known_settings(kind)) or "none"
        raise ValueError(f"{kind.__name__} has no setting {name!r}; it has {known}")
    hint = get_type_hints(kind)[name]
    for choice in _choices(hint):
        try:
            return choice(text)
        except ValueError:
            continue
    raise ValueError(f"setting {name}: cannot read {text!r} as {_shown(hint)}")


def _choices(hint: Any) -> list[Any]:
    """Readers to be tried in turn, the strictest first."""
    if get_origin(hint) in (Union, types.UnionType):
        readers = [reader for inner in get_args(hint) for reader in _choices(inner)]
        return sorted(readers, key=lambda reader: reader in (float, str))
    if get_origin(hint) is Literal:
        return [_one_of({str(value): value for value in get_args(hint)})]
    if hint is type(None):
        return [_one_of({"none": None, "None": None})]
    if hint is bool:
        return [_one_of({"true": True, "True": True, "false": False, "False": False})]
    return [hint] if hint in (int, float, str) else []


def _one_of(values: dict[str, Any]) -> Any:
    def read(text: str) -> Any:
        if text not in values:
            raise ValueError
        return values[text]

    return read


def _shown(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) else str(hint)
