# SPDX-License-Identifier: Apache-2.0
"""Break the privacy layer on purpose, one mutant after the other: the tests must catch every one.

    python bench/mutants.py [--output FILE] [--only WORD] [--jobs N]

A mutant is a copy of the package in which one place is wrong (bench/mutants.toml lists them). The
test that caught it the last time runs first, by what the committed output says; then, should it
survive, the test files named beside it, then all tests that carry the privacy proof; a survivor
fails this command. Mutants of `cpp/` are compiled, one by one, from a copy of the sources.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PROOF = (
    *("tests/property", "tests/engines", "tests/kernels", "tests/statistical", "tests/e2e"),
    *("tests/unit/accounting", "tests/unit/bounding", "tests/unit/contributions"),
    *("tests/unit/data", "tests/unit/mechanisms", "tests/unit/test_folding.py"),
    "tests/unit/test_training.py",
)
REPORT = ROOT / "bench" / "results" / "mutants.txt"
FAILED = 1  # pytest's status
BUILT_FROM = ("src", "cpp", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")


class Mutant(NamedTuple):
    """In `file` the one occurrence of `right` becomes `wrong`; `tests` should notice."""

    what: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.file}: {self.what}"

    @property
    def compiled(self) -> bool:
        return self.file.startswith("cpp/")

    def apply(self, path: Path) -> None:
        """Make the file wrong."""
        text = path.read_text()
        if text.count(self.right) != 1:
            raise SystemExit(
                f"mutant {self.what!r}: {self.file} has {text.count(self.right)} times "
                f"{self.right!r}; bring bench/mutants.toml up to date"
            )
        path.write_text(text.replace(self.right, self.wrong))


def listed() -> list[Mutant]:
    """All mutants, those to be compiled last."""
    groups = tomllib.loads((ROOT / "bench" / "mutants.toml").read_text())["group"]
    mutants = [
        Mutant(each["what"], group["file"], each["right"], each["wrong"], tuple(group["tests"]))
        for group in groups
        for each in group["mutant"]
    ]
    return sorted(mutants, key=lambda mutant: mutant.compiled)


# Imported by every Python that a test starts, after the hooks of an editable install and before
# anything else: it puts the copy in place of the package that is installed.
SITE = """
import os, sys
def redirects(finder):
    names = f"{type(finder).__module__} {type(finder).__name__}".lower()
    return "editable" in names or "scikitbuild" in names
sys.meta_path[:] = [finder for finder in sys.meta_path if not redirects(finder)]
sys.path.insert(0, os.environ["TACIT_MUTANT"])
"""
HERE = "import os, tacit; assert tacit.__file__.startswith(os.environ['TACIT_MUTANT'])"


def copy_of_package(folder: Path) -> Path:
    """The package with the kernels that are installed."""
    package = folder / "tacit"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "tacit", package, ignore=ignored)
    extension = importlib.util.find_spec("tacit.kernels._kernels")
    if extension is not None and extension.origin is not None:
        shutil.copy(extension.origin, package / "kernels")
    return package


def compiled_package(tree: Path, folder: Path) -> None:
    """The package built from a copy of the sources, in this environment where it has the tools."""
    tools = ("nanobind", "scikit_build_core")
    here = all(importlib.util.find_spec(tool) for tool in tools) and shutil.which("cmake")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    command += [str(folder), *(["--no-build-isolation"] if here else []), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the sources do not compile:\n{done.stderr[-2000:]}")


class Outcome(NamedTuple):
    """Pytest's status, and the first test that failed."""

    status: int
    failed: str


def outcome(folder: Path, tests: tuple[str, ...]) -> Outcome:
    """Of these tests against the copy of the package."""
    (folder / "sitecustomize.py").write_text(SITE)
    environment = os.environ | {
        "TACIT_MUTANT": str(folder),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    subprocess.run([sys.executable, "-c", HERE], cwd=ROOT, env=environment, check=True)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not nightly and not data", *tests]
    command += ["-o", "addopts=--import-mode=importlib --strict-markers"]
    for _ in range(3):
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != -signal.SIGKILL:  # from outside: that is no verdict
            break
    else:
        raise SystemExit("the tests were killed three times")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return Outcome(done.returncode, failed[1] if failed else "")


def remembered() -> dict[str, str]:
    """By which test each mutant was caught the last time."""
    lines = REPORT.read_text().splitlines() if REPORT.is_file() else []
    found = (re.match(r" *\d+ (.*): caught by (\S+::.*)$", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def verdict(mutant: Mutant, folder: Path, last: str | None) -> str | None:
    """By which test the package in the folder is caught, if it is."""
    if last and outcome(folder, (last,)).status == FAILED:  # any other status: no such test now
        return last
    for tests in (mutant.tests, PROOF):
        found = outcome(folder, tests)
        if found.failed:
            return found.failed
        if found.status != 0:
            raise SystemExit(f"{mutant.name}: {tests} ended with status {found.status}")
    return None


def judged(mutant: Mutant, last: str | None) -> str | None:
    """The verdict on a mutant of the Python sources."""
    with tempfile.TemporaryDirectory() as name:
        mutant.apply(copy_of_package(Path(name)) / mutant.file)
        return verdict(mutant, Path(name), last)


def judged_compiled(mutant: Mutant, tree: Path, last: str | None) -> str | None:
    """The verdict on a mutant of the C++ sources, which are put right again."""
    path = tree / mutant.file
    before = path.read_text()
    mutant.apply(path)
    try:
        with tempfile.TemporaryDirectory() as name:
            compiled_package(tree, Path(name))
            return verdict(mutant, Path(name), last)
    finally:
        path.write_text(before)


def verdicts(mutants: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, str | None]]:
    """Pairs of mutant and the test that caught it, in order."""
    python = [mutant for mutant in mutants if not mutant.compiled]
    caught = remembered()
    last = [caught.get(mutant.name) for mutant in mutants]
    with ThreadPoolExecutor(jobs) as pool, tempfile.TemporaryDirectory() as name:
        yield from zip(python, pool.map(judged, python, last), strict=True)
        for part in BUILT_FROM:
            source, target = ROOT / part, Path(name) / part
            if source.is_dir():
                shutil.copytree(
                    source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__")
                )
            else:
                shutil.copy(source, target)
        for mutant in mutants[len(python) :]:
            yield mutant, judged_compiled(mutant, Path(name), caught.get(mutant.name))


def check_without_mutant(tests: set[str]) -> None:
    """What noticed the mutants passes as long as nothing is wrong."""
    with tempfile.TemporaryDirectory() as name:
        copy_of_package(Path(name))
        found = outcome(Path(name), tuple(sorted(tests)))
    if found.status != 0:
        raise SystemExit(f"a test fails without any mutant: {found.failed or found.status}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="also write the report there")
    parser.add_argument("--only", default="", help="only mutants whose file or description has it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    asked = parser.parse_args()
    lines = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    mutants = [each for each in listed() if asked.only in f"{each.file} {each.what}"]
    start, noticed = time.perf_counter(), []
    say("command    python bench/mutants.py")
    for number, (mutant, by) in enumerate(verdicts(mutants, asked.jobs), 1):
        noticed += [by] if by else []
        say(f"{number:3d} {mutant.name}: {f'caught by {by}' if by else 'SURVIVED'}")
    check_without_mutant(set(noticed))
    say(f"{len(noticed)} of {len(mutants)} mutants caught, by tests that pass without them")
    print(f"{time.perf_counter() - start:.0f} s")
    if asked.output:
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text("\n".join(lines) + "\n")
    return 0 if len(noticed) == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
