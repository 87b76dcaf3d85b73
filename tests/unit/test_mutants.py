# SPDX-License-Identifier: Apache-2.0
"""The list of mutants is that of the code as it is now; `make mutants` runs them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def listed():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "bench" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.listed()


MUTANTS = listed()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant):
    path = ROOT / ("" if mutant.compiled else "src/tacit") / mutant.file
    assert path.read_text(encoding="utf-8").count(mutant.right) == 1
    assert mutant.wrong != mutant.right
    assert all((ROOT / each).exists() for each in mutant.tests)


def test_each_mutant_has_a_name_of_its_own():
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 20


def test_every_part_of_the_privacy_layer_has_mutants():
    """Sums, bounds and mechanisms; the rehearsal sees no data."""
    without = {"mechanisms/rehearsal.py"}
    files = {mutant.file for mutant in MUTANTS} | without
    layer = [
        path
        for folder in ("bounding", "contributions", "mechanisms")
        for path in (ROOT / "src" / "tacit" / folder).glob("*.py")
        if path.name != "__init__.py"
    ]
    assert [path.name for path in layer if f"{path.parent.name}/{path.name}" not in files] == []
