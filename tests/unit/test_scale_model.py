# SPDX-License-Identifier: Apache-2.0
"""The cost model counts what a training really moves, and finds rates that runs were made with."""

from __future__ import annotations

import sys
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting.public import Public
from tacit.datasets import netflix_like

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def model(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import scale_model

    yield scale_model
    for name in ("scale_model", "machine"):
        sys.modules.pop(name, None)


def test_an_accumulator_holds_what_the_plan_releases(model):
    public = Public(n_users=10_000, n_items=700, low=1, high=5, mu=1.0)
    releases = {each.name: each for each in tacit.ALS(rank=9, steps=3).plan(public).releases}
    numbers = releases["factors.gradient"].size + releases["factors.gram"].size
    assert model.Shape(10_000, 700, 10**6, 9, 3).sums_bytes == 8 * numbers
    assert model.Shape(10_000, 700, 10**6, 9, 3).passes == sum(
        releases[name].times for name in ("counts.count", "offsets.sum", "factors.gradient")
    )


def test_rows_on_disk_are_as_large_as_said(model, tmp_path):
    block = netflix_like(0.004).block
    columns = {"user": block.user_of_rating(), "item": block.items, "rating": block.values}
    tacit.read(pa.table(columns), scale=(1, 5), keep=tmp_path / "kept")
    size = sum(path.stat().st_size for path in (tmp_path / "kept").glob("rows-*"))
    shape = model.Shape(block.n_users, block.n_items, len(block.items), 64, 4)
    assert size == pytest.approx(shape.row_bytes, rel=0.1)


def test_operations_are_those_of_the_rows(model):
    lengths = np.diff(netflix_like(0.02).block.indptr).astype(float)
    for rank in (8, 64):
        m = np.minimum(lengths, rank)
        exact = np.sum(lengths * m * rank + m**3 / 3 + rank**2 + 4 * lengths * rank)
        shape = model.Shape(len(lengths), 17_770, int(lengths.sum()), rank, 1)
        assert shape.flops == pytest.approx(exact, rel=0.1)


def test_rates_are_found_and_forecasts_are_judged(model, capsys):
    true = model.Rates(8e-8, 2e-7, 3e-8, 6e-8, 4e-6, 1e-11, 1e-7, 0.5)
    sizes = [(480_000, 10**7, 64), (480_000, 10**7, 16), (48_000, 10**7, 64), (480, 10**5, 64)]
    runs = [made(model, true, model.Shape(u, 17_770, n, r, 4)) for u, n, r in sizes]
    found = model.fit_rates(runs[:3], runs[3], "seconds")
    np.testing.assert_allclose(astuple(found)[:-1], astuple(true)[:-1], rtol=0.05)
    large = made(model, true, model.Shape(480_000, 17_770, 10**8, 64, 4))
    assert model.check(found, found, [large])
    large[1]["seconds"] *= 1.5
    assert not model.check(found, found, [large])
    assert "MISSED" in capsys.readouterr().out


def made(model, rates, shape):
    """A run that takes just as long as the rates say."""
    told = rates.seconds(shape)
    stages = {
        "start": told["the rest"],
        "read": told["read, check, number"] / 2,
        "check, number": told["read, check, number"] / 2,
        "sort by user": told["sort by user"],
        "counts": told["counts, offsets"] / 6,
        "item offsets": told["counts, offsets"] * 5 / 6,
        "ALS step": told["ALS steps"],
    }
    run = {"stages": {name: {"seconds": spent, "cpu": spent} for name, spent in stages.items()}}
    return shape, run | {"seconds": sum(stages.values()), "peak": shape.peak}
