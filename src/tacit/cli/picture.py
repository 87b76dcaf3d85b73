# SPDX-License-Identifier: Apache-2.0
"""Bars as an SVG file: a picture that needs no drawing library."""

from __future__ import annotations

import os
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROW, _LEFT, _BAR, _TOP = 26, 230, 300, 70
_COLOURS = ("#4269d0", "#3ca951")


def bars(title: str, note: str, panels: Mapping[str, Mapping[str, float]]) -> str:
    """One panel of horizontal bars for each figure; the rows of all panels are the same ones.

    A bar starts at 0, so that lengths may be compared.
    """
    names = list(next(iter(panels.values())))
    width = _LEFT + len(panels) * (_BAR + 90)
    height = _TOP + _ROW * len(names) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="24" font-size="17">{escape(title)}</text>',
        f'<text x="12" y="{height - 14}" fill="#555">{escape(note)}</text>',
    ]
    for row, name in enumerate(names):
        y = _TOP + row * _ROW + 17
        parts.append(f'<text x="{_LEFT - 12}" y="{y}" text-anchor="end">{escape(name)}</text>')
    for number, (figure, values) in enumerate(panels.items()):
        parts += _panel(figure, values, number)
    return "\n".join([*parts, "</svg>", ""])


def _panel(figure: str, values: Mapping[str, float], number: int) -> list[str]:
    left = _LEFT + number * (_BAR + 90)
    largest = max(*values.values(), 1e-12)
    colour = _COLOURS[number % len(_COLOURS)]
    parts = [f'<text x="{left}" y="{_TOP - 12}" fill="#555">{escape(figure)}</text>']
    for row, value in enumerate(values.values()):
        y, length = _TOP + row * _ROW, _BAR * max(value, 0.0) / largest
        parts += [
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{_ROW - 6}" fill="{colour}"/>',
            f'<text x="{left + length + 6:.1f}" y="{y + 16}">{value:.4f}</text>',
        ]
    return parts


def write(path: Path, text: str) -> None:
    """Put the text at `path` in one step; a kill leaves what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
