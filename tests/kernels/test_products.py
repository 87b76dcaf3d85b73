# SPDX-License-Identifier: Apache-2.0
"""The compiled products of users and items against their NumPy twin, on every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.reference.products import row_products as twin

_kernels = pytest.importorskip("tacit.kernels._kernels", reason="the extension is not built")
row_products = _kernels.row_products

RANKS = (0, 1, 3, 4, 8, 15, 16, 17, 63, 64, 65, 130)


def problem(seed: int, lengths, rank: int, n_items: int = 9):
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths, np.int64)
    return (
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.integers(0, n_items, lengths.sum()).astype(np.int32),
        rng.normal(size=(len(lengths), rank)).astype(np.float32),
        rng.normal(size=(n_items, rank)).astype(np.float32),
    )


def assert_like_its_twin(seed, lengths, rank):
    indptr, items, U, V = problem(seed, lengths, rank)
    users = np.repeat(np.arange(len(lengths)), lengths)
    size = np.einsum("pk,pk->p", np.abs(U)[users], np.abs(V)[items])
    allowed = 2.0**-23 * max(rank, 1) * size
    found = row_products(indptr, items, U, V)
    assert found.dtype == np.float32
    assert np.all(np.abs(found.astype(float) - twin(indptr, items, U, V)) <= allowed)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 12), max_size=6), st.sampled_from(RANKS))
def test_equals_its_twin(seed, lengths, rank):
    assert_like_its_twin(seed, lengths, rank)


@given(st.integers(0, 2**32), st.sampled_from(RANKS))
def test_company_changes_no_bit(seed, rank):
    indptr, items, U, V = problem(seed, [3, 0, 5], rank)
    whole = row_products(indptr, items, U, V)
    alone = row_products(np.array([0, 5]), items[3:].copy(), U[2:].copy(), V)
    assert whole[3:].tobytes() == alone.tobytes()


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_on_every_instruction_set(isa):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_products as t\n"
        "for seed, rank in enumerate(t.RANKS): t.assert_like_its_twin(seed, [4, 0, 9, 1], rank)"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env=os.environ | {"TACIT_ISA": isa},
        check=True,
    )


def test_what_does_not_fit_is_refused():
    indptr, items, U, V = problem(0, [2, 3], 4)
    with pytest.raises(ValueError, match="a row for each user"):
        row_products(indptr, items, U[:1].copy(), V)
    with pytest.raises(ValueError, match="the same rank"):
        row_products(indptr, items, U, V[:, :2].copy())
    with pytest.raises(ValueError, match="indptr must rise"):
        row_products(indptr[::-1].copy(), items, U, V)
    with pytest.raises(IndexError, match="outside the catalogue"):
        row_products(indptr, items + 9, U, V)
