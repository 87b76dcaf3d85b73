# SPDX-License-Identifier: Apache-2.0
"""The table of verbs, and how the program ends."""

from __future__ import annotations

import sys

import typer

from tacit.cli import interrupts
from tacit.cli.lazy import lazy_group

VERBS = {
    "plan": "What a training will release and spend, before any data is read.",
    "fit": "Train a private recommender and save it.",
    "recommend": "Recommend items for one user, or for many from a file.",
    "export": "Write an index of a model's items, for large catalogues.",
    "evaluate": "Train with several seeds and judge the models on test ratings.",
    "inspect": "Show what a saved model may reveal, also in plain words.",
    "audit": "Attack an algorithm on made-up ratings.",
    "algorithms": "List the algorithms with their settings.",
    "demo": "Show on made-up ratings what privacy costs.",
}

app = typer.Typer(
    cls=lazy_group(VERBS),
    help="Recommenders whose item factors do not give away any one user.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback could hold ratings
)


@app.callback()
def _verbs() -> None:
    """Recommenders whose item factors do not give away any one user."""


def run() -> int:
    """Run the command line; the exit code."""
    try:
        code = app(standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except typer.Abort:
        code = interrupts.INTERRUPTED
    except Exception as error:  # noqa: BLE001  (whatever it is: one line, no traceback)
        explain = getattr(error, "format_message", None)
        if explain is None:
            sys.stderr.write(f"tacit: unexpected {type(error).__name__}; please report it\n")
            return 1
        wrong = explain() or ""
        if wrong:
            sys.stderr.write(f"tacit: {' '.join(wrong.split())} (tacit --help)\n")
        code = 2
    if code == interrupts.INTERRUPTED:
        interrupts.tell()
    return int(code or 0)
