# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C is never lost, not even where a library takes the signal and goes on."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTED = 130


class _State:
    asked = False
    told = False
    spent = ""


@contextmanager
def watched() -> Iterator[None]:
    """Remember Ctrl-C beside raising KeyboardInterrupt."""
    _State.asked = _State.told = False
    _State.spent = ""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _remember(*_: Any) -> None:
    _State.asked = True
    raise KeyboardInterrupt


def asked() -> bool:
    """Whether somebody pressed Ctrl-C."""
    return _State.asked


def from_now_on(spent: str) -> None:
    """What is to be told if somebody presses Ctrl-C later than this."""
    _State.spent = spent


def stop_if_asked() -> None:
    """Raise KeyboardInterrupt once more, where something may have swallowed it."""
    if _State.asked:
        raise KeyboardInterrupt


def tell(stop: BaseException | None = None) -> None:
    """Say on stderr, once, that the program was interrupted, and what was spent."""
    if not _State.told:
        _State.told = True
        spent = str(stop or "") or _State.spent or "nothing was spent"
        sys.stderr.write(f"tacit: interrupted; {spent}\n")
