# SPDX-License-Identifier: Apache-2.0
"""`tacit algorithms`: what can be trained, and what can be set."""

from __future__ import annotations

import inspect

from tacit.cli.settings import DEFAULT, known_settings, takes_start
from tacit.cli.verb import AsJson, say, say_json, verb
from tacit.solvers import SOLVERS, UNPROTECTED


@verb
def algorithms(*, as_json: AsJson = False) -> None:
    """List the algorithms with their settings and defaults."""
    kinds = SOLVERS | UNPROTECTED
    if as_json:
        say_json({name: known_settings(kind) for name, kind in kinds.items()})
        return
    for name, kind in kinds.items():
        say(f"{name}{' (default)' if name == DEFAULT else ''}")
        say("    " + inspect.cleandoc(kind.__doc__ or "").replace("\n", "\n    "))
        for setting, default in known_settings(kind).items():
            if setting != "start" or default is not None:
                say(f"    --set {setting}={default}")
        if takes_start(kind):
            say("    --start FOLDER")
        say("")
