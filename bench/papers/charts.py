# SPDX-License-Identifier: Apache-2.0
"""Charts of a paper's experiment beside each other, in one file under docs/figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
Curves = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Chart:
    """Curves by name. A name that ends in "no privacy", or is a baseline's, is drawn dashed."""

    title: str
    curves: Curves
    x: str
    y: str
    log_x: bool = True
    log_y: bool = True


def draw(charts: list[Chart], name: str, columns: int) -> None:
    """The same numbers give the same file."""
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8})
    rows = -(-len(charts) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.2 * columns, 2.6 * rows), squeeze=False)
    for axis in axes.flat[len(charts) :]:
        axis.set_axis_off()
    for axis, chart in zip(axes.flat, charts, strict=False):
        for curve, points in chart.curves.items():
            dashed = curve.endswith(("no privacy", "mean"))
            axis.plot(*zip(*points, strict=True), "--" if dashed else "-", label=curve, linewidth=1)
        axis.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
        axis.set(xscale="log" if chart.log_x else "linear")
        axis.set(yscale="log" if chart.log_y else "linear")
        axis.legend(fontsize=5)
    figure.tight_layout()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
