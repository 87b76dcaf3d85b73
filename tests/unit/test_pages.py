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


def test_every_result_on_the_page_has_its_command_and_rows(report):
    there = [path.stem for path in report.RESULTS.glob("*.txt") if path.stem in report.SECTIONS]
    assert len(there) >= 4
    for name in there:
        about = report.SECTIONS[name]
        assert (ROOT / about.script).exists()
        section = report.rendered(name)
        assert f"`python {about.script}" in section
        rows = [row for row in section.splitlines() if row.startswith("| ")][1:]
        assert len(rows) >= 2, f"no row of {name}.txt was recognised: bring SECTIONS up to date"


RESULT = """\
command    python bench/kernels/solve.py
machine    one of ours

rank   seconds   GFLOP/s   sgemm GFLOP/s   ratio   required   dual users
  16     0.074      31.3            42.4    0.74                     0%
  64     0.516      72.1            41.5    1.74       0.50         29%

all required ratios reached
"""


def test_results_are_copied_cell_by_cell(report, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    (tmp_path / "solve.txt").write_text(RESULT)
    (tmp_path / "other.txt").write_text("nobody knows\nthis  form\n")
    page = report.render()
    assert "Measured by `python bench/kernels/solve.py`" in page
    assert "- machine: one of ours\n" in page
    assert "| 16 | 0.074 | 31.3 | 42.4 | 0.74 |  | 0% |\n" in page
    assert "| 64 | 0.516 | 72.1 | 41.5 | 1.74 | 0.50 | 29% |\n" in page
    assert "- all required ratios reached\n" in page
    assert "```text\nnobody knows\nthis  form\n```" in page


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
