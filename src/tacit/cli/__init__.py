# SPDX-License-Identifier: Apache-2.0
"""The command line: the library's verbs, one file each."""

from __future__ import annotations

import typer

from tacit.cli.demo import demo

app = typer.Typer(
    help="Recommenders whose item factors do not give away any one user.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # locals of a traceback could hold ratings
)
app.command()(demo)


@app.callback()
def _verbs() -> None:
    """Keep `tacit demo` a verb even while it is the only one."""


def main() -> None:
    app()
