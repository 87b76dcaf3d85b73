# SPDX-License-Identifier: Apache-2.0
"""Break the privacy layer on purpose, one mutant after the other: the tests must catch every one.

    python bench/mutants.py [--output FILE] [--only WORD]

Each mutant is a copy of the package with one line changed. The tests that carry the privacy proof
run against the copy until the first failure; a mutant that survives fails this command.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["tests/property", "tests/unit", "tests/kernels", "tests/engines", "tests/statistical"]


class Mutant(NamedTuple):
    """In `file` the one occurrence of `right` becomes `wrong`."""

    what: str
    file: str
    right: str
    wrong: str


MUTANTS: list[Mutant] = []

# A module imported by pytest before all others: it takes the mutated copy instead of the package
# that is installed.
PLUGIN = """
import os, sys
def redirects(finder):
    kind = type(finder)
    return "editable" in f"{kind.__module__} {kind.__name__}".lower() or "ScikitBuild" in kind.__name__
sys.meta_path[:] = [finder for finder in sys.meta_path if not redirects(finder)]
for name in [n for n in sys.modules if n == "tacit" or n.startswith("tacit.")]:
    del sys.modules[name]
sys.path.insert(0, os.environ["TACIT_MUTANT"])
import tacit
assert tacit.__file__.startswith(os.environ["TACIT_MUTANT"]), tacit.__file__
"""


def installed_extension() -> Path:
    from tacit.kernels import _kernels  # noqa: PLC0415 - only this function needs the package

    return Path(_kernels.__file__)


def copy_of_package(folder: Path) -> Path:
    """The package with its compiled kernels, and the plugin that makes tests import it."""
    package = folder / "tacit"
    shutil.copytree(ROOT / "src" / "tacit", package, ignore=shutil.ignore_patterns("__pycache__"))
    extension = installed_extension()
    if not (package / "kernels" / extension.name).exists():
        shutil.copy(extension, package / "kernels")
    (folder / "mutant_plugin.py").write_text(PLUGIN)
    return package


def run_tests(folder: Path) -> tuple[bool, str]:
    """Whether the tests pass against the copy, and the first that did not."""
    environment = os.environ | {
        "TACIT_MUTANT": str(folder),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    tests = [test for test in TESTS if (ROOT / test).exists()]
    command = [sys.executable, "-m", "pytest", "-p", "mutant_plugin", "-q", "-x", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "no:doctest", "-m", "not nightly and not data"]
    command = [part for part in command if part]
    done = subprocess.run(
        [*command, "-o", "addopts=--import-mode=importlib --strict-markers", *tests],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return done.returncode == 0, failed[1] if failed else done.stdout.strip()[-200:]


def verdict(mutant: Mutant) -> tuple[bool, str]:
    """Whether the mutant was caught, and by which test."""
    with tempfile.TemporaryDirectory() as name:
        package = copy_of_package(Path(name))
        path = package / mutant.file
        text = path.read_text()
        if text.count(mutant.right) != 1:
            raise SystemExit(
                f"mutant {mutant.what!r}: {mutant.file} has {text.count(mutant.right)} times "
                f"{mutant.right!r}; bring the list up to date"
            )
        path.write_text(text.replace(mutant.right, mutant.wrong))
        passed, by = run_tests(Path(name))
        return not passed, by


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="also write the report there")
    parser.add_argument("--only", default="", help="only mutants whose description has this word")
    asked = parser.parse_args()
    lines = ["command: python bench/mutants.py"]

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    with tempfile.TemporaryDirectory() as name:
        copy_of_package(Path(name))
        passed, by = run_tests(Path(name))
        if not passed:
            raise SystemExit(f"the tests fail without any mutant: {by}")
    say("without a mutant: all tests pass")
    survivors = 0
    chosen = [mutant for mutant in MUTANTS if asked.only in mutant.what]
    for number, mutant in enumerate(chosen, 1):
        start = time.perf_counter()
        caught, by = verdict(mutant)
        survivors += not caught
        outcome = f"caught by {by}" if caught else "SURVIVED"
        seconds = time.perf_counter() - start
        say(f"{number:3d} {mutant.file}: {mutant.what}: {outcome} ({seconds:.0f} s)")
    say(f"{len(chosen) - survivors} of {len(chosen)} mutants caught")
    if asked.output:
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text("\n".join(lines) + "\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
