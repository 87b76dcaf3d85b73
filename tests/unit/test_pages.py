# SPDX-License-Identifier: Apache-2.0
"""Pages with figures say what the files and tests say that the figures come from."""

from __future__ import annotations

import ast
import importlib.util
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


# --- docs/benchmarks.md --------------------------------------------------------------------------


@pytest.fixture
def report():
    spec = importlib.util.spec_from_file_location("report", ROOT / "bench" / "report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_benchmarks_is_what_the_results_say(report):
    assert report.PAGE.read_text(encoding="utf-8") == report.render(), (
        "bench/results and docs/benchmarks.md differ: run python bench/report.py"
    )


def test_every_result_names_a_command_that_is_there(report):
    there = sorted(report.RESULTS.glob("*.txt"))
    assert len(there) >= 4
    for path in there:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        words = first.split()
        assert words[:2] == ["command", "python"], f"{path.name} must start with its command"
        assert (ROOT / words[2]).is_file(), f"{path.name} names a script that is not there"


# --- docs/papers.md ------------------------------------------------------------------------------


def figures(name):
    """A table of test_published_figures.py, as it is written there."""
    tree = ast.parse(text("tests/unit/accounting/test_published_figures.py"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise KeyError(name)


def row(*cells):
    shown = [cell if " " in str(cell) else f"{Decimal(str(cell)):f}" for cell in cells]
    return f"| {' | '.join(shown)} |"


@pytest.mark.parametrize(
    ("heading", "wanted"),
    [
        ("### Theorem 1 charges", [row(*cells) for cells in figures("A1")]),
        ("### Table 4", [row(name, *cells[5:]) for name, cells in figures("TABLE_4").items()]),
        ("### The noise of Algorithm 1", [row(*cells) for cells in figures("A4")]),
    ],
)
def test_tables_of_the_papers_page_are_those_that_tests_compute(heading, wanted):
    section = text("docs/papers.md").split(heading, 1)[1].split("\n### ", 1)[0]
    rows = [each for each in section.splitlines() if each.startswith("| ")]
    assert rows[1:] == wanted
