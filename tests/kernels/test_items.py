# SPDX-License-Identifier: Apache-2.0
"""The compiled solve of many small systems against its NumPy twin, on every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.reference.items import solve_items as twin

_kernels = pytest.importorskip("tacit.kernels._kernels", reason="the extension is not built")
solve_items = _kernels.solve_items

# Around the widths of registers and tiles of every instruction set.
RANKS = (0, 1, 2, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65)


def problem(seed: int, items: int, rank: int):
    """Positive matrices of mixed conditioning, every third with one negative eigenvalue."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(items, rank, rank + 2))
    matrices = roots @ roots.transpose(0, 2, 1)
    if rank:
        direction = rng.normal(size=(items, rank))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        push = (2 + 2 * np.linalg.norm(matrices, axis=(1, 2))) * (np.arange(items) % 3 == 2)
        matrices -= push[:, None, None] * direction[:, :, None] * direction[:, None, :]
    return matrices, rng.uniform(0, 1, items), rng.normal(size=(items, rank))


def assert_like_its_twin(seed, items, rank):
    matrices, ridges, sides = problem(seed, items, rank)
    below = np.tril(np.full((rank, rank), np.nan), -1)
    found, positive = solve_items(matrices + below, ridges, sides)  # the lower half is not read
    wanted, wanted_positive = twin(matrices + np.nan_to_num(below), ridges, sides)
    np.testing.assert_array_equal(positive, wanted_positive)
    if rank:
        np.testing.assert_array_equal(positive, np.arange(items) % 3 != 2)
    for j in range(items):
        A = matrices[j] + ridges[j] * np.eye(rank)
        scale = np.linalg.norm(A) * np.linalg.norm(found[j]) + np.linalg.norm(sides[j])
        if positive[j]:  # backward stable: the residual, not the solution, is small
            assert np.linalg.norm(A @ found[j] - sides[j]) <= 1e-13 * max(rank, 1) * scale
            np.testing.assert_allclose(found[j], wanted[j], rtol=1e-6, atol=1e-8)
        else:
            assert not found[j].any()


@given(st.integers(0, 2**32), st.integers(0, 7), st.sampled_from(RANKS))
def test_equals_its_twin(seed, items, rank):
    assert_like_its_twin(seed, items, rank)


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_on_every_instruction_set(isa):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_items as t\n"
        "for seed, rank in enumerate(t.RANKS): t.assert_like_its_twin(seed, 6, rank)"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env=os.environ | {"TACIT_ISA": isa},
        check=True,
    )


def test_what_does_not_fit_is_refused():
    matrices, ridges, sides = problem(0, 3, 4)
    for arguments in (
        (matrices[:, :3], ridges, sides),
        (matrices, ridges[:2], sides),
        (matrices, ridges, sides[:2]),
        (matrices, ridges, sides[:, :3].copy()),
    ):
        with pytest.raises((ValueError, TypeError)):
            solve_items(*(np.ascontiguousarray(each) for each in arguments))


def test_a_number_that_is_none_is_not_positive():
    matrices = np.array([[[np.nan]], [[0.0]], [[4.0]]])
    found, positive = solve_items(matrices, np.zeros(3), np.ones((3, 1)))
    assert positive.tolist() == [False, False, True]
    assert found.ravel().tolist() == [0.0, 0.0, 0.25]
