# SPDX-License-Identifier: Apache-2.0
"""The command line: the library's verbs, one file each."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `tacit`; every failure is one line on stderr and an exit code."""
    try:
        from tacit.cli.app import run  # noqa: PLC0415  (Ctrl-C while it loads is answered here)

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("tacit: interrupted; nothing was spent\n")
        code = 130
    sys.exit(code)
