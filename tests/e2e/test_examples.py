# SPDX-License-Identifier: Apache-2.0
"""What newcomers copy works: every example, and the Python in the README and in the docs."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*command, folder):
    """Run Python apart, with warnings as errors; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    assert re.search(r"^assert ", example.read_text(), re.MULTILINE), "an example checks itself"
    assert run(str(example), folder=tmp_path)
    assert not list(tmp_path.iterdir()), "an example leaves nothing where it was started"


def test_there_are_examples():
    assert [path.stem for path in EXAMPLES] == ["quickstart"]


def python_of_the_readme():
    """The indented block that imports tacit."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", readme, re.MULTILINE)
    (found,) = [block for block in blocks if "import tacit" in block]
    return textwrap.dedent(found)


def write_ratings(path):
    """A CSV with the items that the README names."""
    made_up = tacit.datasets.movielens_like(300, 40, 6_000, 2, seed=3, half_stars=False)
    block = made_up.block
    users, items = block.user_of_rating().tolist(), block.items.tolist()
    lines = [f"{u},m{i},{r:g}" for u, i, r in zip(users, items, block.values, strict=True)]
    path.write_text("\n".join(["user,item,rating", *lines]) + "\n")


def test_the_readme_runs(tmp_path):
    write_ratings(tmp_path / "ratings.csv")
    code = python_of_the_readme()
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    printed = run("-c", code, folder=tmp_path)
    assert "joint differential privacy of each user" in printed
    assert len(re.findall(r"^m\d+ \d\.\d+$", printed, re.MULTILINE)) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "ratings.csv"]


def test_the_plan_in_the_docs_runs(tmp_path):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/accounting.md").read_text(), re.DOTALL
    )
    assert "calibrate(" in code
    run("-c", code + "\nassert plan.epsilon(default_delta(6040)) <= 1", folder=tmp_path)
