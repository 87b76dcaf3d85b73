# SPDX-License-Identifier: Apache-2.0
"""Write docs/benchmarks.md from the files under bench/results, so that its figures are theirs.

    python bench/report.py

Run it after a measurement. A file that is not in SECTIONS stands on the page as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """\
# What was measured

`python bench/report.py` writes this page from the files under `bench/results`; a test fails when
they differ. To measure again: `make bench`, then that command. Compare ratios within one table, not
seconds between machines.
"""


class Section(NamedTuple):
    """What a file of results answers, and how the rows of its tables look."""

    title: str
    question: str
    script: str
    columns: tuple[str, ...]
    row: str


SECTIONS = {
    "noise": Section(
        "Noise",
        "What exact Gaussian noise costs, cipher included, beside NumPy's normals. The ratio is to "
        "the first row; at least 3 is wanted.",
        "bench/kernels/noise.py",
        ("what", "rate", "ratio or bytes"),
        r"(\S.*?) {2,}([\d.]+ M/s)(?: +(.+))?",
    ),
    "solve": Section(
        "Users' factors",
        "The rate of the batched user solve beside NumPy's single-precision matrix product in the "
        "same run. A ratio of at least 0.5 is wanted at ranks 64 and 128.",
        "bench/kernels/solve.py",
        ("rank", "seconds", "GFLOP/s", "sgemm GFLOP/s", "ratio", "required", "dual users"),
        r" *(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)? +(\d+%)",
    ),
    "sums": Section(
        "Sums",
        "What the exact integer sums cost, kernel by kernel, in seconds. The rates are per second "
        "of `cpu`, processor time, which says more than the clock on a busy machine.",
        "bench/kernels/sums.py",
        ("kernel", "threads", "wall", "cpu", "ns/rating", "Gop/s", "GB/s"),
        r"(\S.*?) {2,}(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(-|[\d.]+) +([\d.]+)",
    ),
    "read": Section(
        "Reading",
        "Whether 25 million rows are read, grouped and encoded within 2 GiB beyond the result, and "
        "how pandas does.",
        "bench/read.py",
        ("source", "reader", "seconds", "CPU seconds", "peak MiB", "result MiB", "beyond it MiB"),
        r"\| (\S+) \| (\w+)" + r" \| ([\d.,]+)" * 5 + r" \|",
    ),
    "serving": Section(
        "Serving",
        "Users served a second beside another library: ranking by factors that are there already "
        "(known), and from ratings (afresh).",
        "bench/serving.py",
        ("task", "users/s tacit", "users/s implicit", "ratio", "required"),
        r"(\w+) +([\d,]+) +([\d,]+|nan) +([\d.]+|nan) +([\d.]+)",
    ),
    "mutants": Section(
        "Mutants",
        "Whether the tests notice each way of breaking the privacy layer. A mutant is one changed "
        "line.",
        "bench/mutants.py",
        ("number", "file", "what is broken", "caught by"),
        r" *(\d+) ([^ :]+): (.*): (?:caught by )?(\S.*?)(?: \(\d+ s\))?",
    ),
}


def render() -> str:
    """The whole page."""
    there = sorted(path.stem for path in RESULTS.glob("*.txt"))
    order = [name for name in SECTIONS if name in there]
    order += [name for name in there if name not in SECTIONS]
    return "\n".join([INTRODUCTION, *(rendered(name) for name in order)])


def rendered(name: str) -> str:
    """Question, command and file, then what the file says."""
    text = (RESULTS / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    if name not in SECTIONS:
        return f"## {name}\n{link(name)}\n\n```text\n{text}\n```\n"
    about = SECTIONS[name]
    named = re.search(r"python bench/\S.*", text)
    command = named[0] if named else f"python {about.script}"
    lines = [f"## {about.title}", about.question, ""]
    lines.append(f"Measured by `{command}`, output in {link(name)}.")
    for block in re.split(r"\n\s*\n", text):
        facts, rows = parted(block, about)
        listed = [f"- {fact}" for fact in facts if not fact.endswith(command)]
        lines += ["", *listed] if listed else []
        lines += ["", *table(rows, about.columns)] if rows else []
    return "\n".join([*lines, ""])


def link(name: str) -> str:
    return f"[{name}.txt](../bench/results/{name}.txt)"


def parted(block: str, about: Section) -> tuple[list[str], list[list[str]]]:
    """Lines of words, and the cells of lines that are rows; a line of names is neither."""
    facts, rows = [], []
    for line in block.splitlines():
        words = line.replace("|", " ").split()
        if found := re.fullmatch(about.row, line.rstrip()):
            rows.append([cell or "" for cell in found.groups()])
        elif words != " ".join(about.columns).split() and set(line) - set("|-"):
            facts.append(re.sub(r"^(\w[\w ,]*?) {2,}", r"\1: ", line.strip()))
    return facts, rows


def table(rows: list[list[str]], columns: tuple[str, ...]) -> list[str]:
    """Markdown; columns that hold numbers only stand to the right."""
    number = re.compile(r"[-\d.,]*%?x?|nan")
    right = [all(number.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True)]
    rule = "|".join("---:" if each else "---" for each in right)
    return [line(columns), f"|{rule}|", *(line(row) for row in rows)]


def line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    PAGE.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
