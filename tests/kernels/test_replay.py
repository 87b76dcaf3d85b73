# SPDX-License-Identifier: Apache-2.0
"""The compiled replay of Frank-Wolfe against its NumPy twin, and what it promises beyond that."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.reference.replay import replay_users as twin

_kernels = pytest.importorskip("tacit.kernels._kernels", reason="the extension is not built")
replay_users = _kernels.replay_users


def problem(seed, counts, steps, *, length=2.0, keep=0.9, pull=2.0):
    """Arguments for users with these numbers of ratings; directions have length 1."""
    rng = np.random.default_rng(seed)
    n_items = max([*counts, 1]) + 3
    items = [rng.permutation(n_items)[:count] for count in counts]
    directions = rng.normal(size=(n_items, steps))
    directions /= np.linalg.norm(directions, axis=0)
    return (
        np.cumsum([0, *counts]).astype(np.int64),
        np.concatenate([*items, np.empty(0)]).astype(np.int32),
        rng.normal(size=sum(counts)).astype(np.float32),
        directions.astype(np.float32),
        rng.uniform(0, pull, steps).astype(np.float32),
        keep,
        length,
    )


@given(
    seed=st.integers(0, 2**32),
    counts=st.lists(st.integers(0, 70), max_size=6),
    steps=st.integers(0, 37),
    length=st.sampled_from([0.1, 2.0, 1e3]),
)
def test_it_is_the_twin(seed, counts, steps, length):
    arguments = problem(seed, counts, steps, length=length)
    for found, wanted in zip(replay_users(*arguments), twin(*arguments), strict=True):
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype == np.float32
        scale = max(float(np.abs(wanted).max(initial=0)), 1.0)
        np.testing.assert_allclose(found, wanted, atol=1e-4 * scale, rtol=0)


@pytest.mark.parametrize("replay", [replay_users, twin])
@pytest.mark.parametrize("length", [0.5, 3.0])
def test_factors_times_directions_are_what_residuals_say(replay, length):
    """Y = V x at her items, and y - her shortened targets is the residual, at most 2 L long."""
    counts = [0, 1, 30, 64]
    indptr, items, targets, V, pulls, keep, length = problem(5, counts, 7, length=length)
    x, residuals = replay(indptr, items, targets, V, pulls, keep, length)
    for u in range(len(counts)):
        own = slice(indptr[u], indptr[u + 1])
        shrink = min(1.0, length / max(np.linalg.norm(targets[own]), 1e-30))
        y = V[items[own]] @ x[u] * shrink
        np.testing.assert_allclose(residuals[own], y - shrink * targets[own], atol=1e-5)
        assert np.linalg.norm(y) <= length * (1 + 1e-5)


def test_nobody_depends_on_company():
    arguments = problem(1, [3, 0, 16, 17, 200, 33, 5], 19)
    indptr, items, targets, *public = arguments
    x, residuals = replay_users(*arguments)
    for u in range(len(indptr) - 1):
        own = slice(indptr[u], indptr[u + 1])
        alone = np.array([0, indptr[u + 1] - indptr[u]])
        mine, left = replay_users(alone, items[own].copy(), targets[own].copy(), *public)
        np.testing.assert_array_equal(mine[0], x[u])
        np.testing.assert_array_equal(left, residuals[own])


@pytest.mark.parametrize("isa", ["generic", "avx2"])
def test_every_instruction_set_agrees(isa):
    script = (
        "import sys, numpy as np; sys.path.insert(0, 'tests/kernels');"
        "from test_replay import problem, replay_users, twin;"
        "a = problem(3, [0, 5, 40, 100], 21);"
        "print(max(float(np.abs(p - q).max()) for p, q in zip(replay_users(*a), twin(*a))))"
    )
    environment = os.environ | {"TACIT_ISA": isa}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1e-4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.array([0, 2, 1, 9])}, "ascend"),
        ({0: np.array([0, 4])}, "ascend"),
        ({2: np.zeros(3, np.float32)}, "one per rating"),
        ({4: np.zeros(3, np.float32)}, "one per direction"),
        ({6: 0.0}, "length"),
        ({6: np.inf}, "length"),
    ],
)
def test_arguments_are_checked(change, message):
    arguments = list(problem(2, [4, 5], 2))
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=message):
        replay_users(*arguments)


def test_an_item_outside_the_catalogue_is_refused():
    arguments = list(problem(2, [4, 5], 2))
    arguments[1] = arguments[1] + 100
    with pytest.raises(IndexError, match="outside the catalogue"):
        replay_users(*arguments)
