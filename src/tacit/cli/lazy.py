# SPDX-License-Identifier: Apache-2.0
"""Verbs are imported when they are used, so that `tacit --help` does not wait for NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Verb(TyperCommand):
    """Stands in for `tacit.cli.<name>`; the real command takes over when arguments are parsed."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return self._real().make_context(info_name, args, parent=parent, **extra)

    def _real(self) -> Any:
        name = str(self.name)
        alone = typer.Typer(add_completion=False)
        alone.command(name)(getattr(import_module(f"tacit.cli.{name}"), name))
        return typer.main.get_command(alone)


def lazy_group(verbs: Mapping[str, str]) -> type[TyperGroup]:
    """A command group of these verbs with their summaries."""

    class Lazy(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (signature of the base)
            return list(verbs)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  (as above)
            if cmd_name not in verbs:
                return None
            return _Verb(name=cmd_name, help=verbs[cmd_name], callback=None, params=[])

    return Lazy
