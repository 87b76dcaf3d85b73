# SPDX-License-Identifier: Apache-2.0
"""The compiled step of descent against its NumPy twin, alone and in company."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.reference.descend import descend_users as twin

_kernels = pytest.importorskip("tacit.kernels._kernels", reason="the extension is not built")
descend_users = _kernels.descend_users

NAMES = ("indptr", "items", "targets", "factors", "start", "turn", "rates", "ridge")


def problem(rng, counts, rank):
    counts = np.asarray(counts, np.int64)
    n_items = max(int(counts.max(initial=1)), 1) + 3
    rows = [rng.choice(n_items, c, replace=False) for c in counts]
    return (
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([*rows, np.empty(0)]).astype(np.int32),
        rng.normal(size=counts.sum()).astype(np.float32),
        rng.normal(size=(n_items, rank)).astype(np.float32),
        rng.normal(size=(len(counts), rank)).astype(np.float32),
        (np.eye(rank) + 0.1 * rng.normal(size=(rank, rank))).astype(np.float32),
        rng.uniform(0, 1 / np.maximum(counts, 1)).astype(np.float32),
        0.5,
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    counts=st.lists(st.integers(0, 40), max_size=8),
    rank=st.sampled_from([1, 2, 7, 15, 16, 17, 32, 33, 64, 130]),
)
def test_equals_the_twin(seed, counts, rank):
    arguments = problem(np.random.default_rng(seed), counts, rank)
    found, expected = descend_users(*arguments), twin(*arguments)
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * rank)


@pytest.mark.parametrize("rank", [1, 5, 16, 40, 64])
def test_a_user_has_the_same_bits_in_any_company(rng, rank):
    arguments = problem(rng, rng.integers(0, 60, 30), rank)
    indptr, items, targets, factors, start, turn, rates, ridge = arguments
    together = descend_users(*arguments)
    for u in range(len(start)):
        here = slice(indptr[u], indptr[u + 1])
        own = np.array([0, indptr[u + 1] - indptr[u]])
        one = slice(u, u + 1)
        alone = descend_users(
            own, items[here], targets[here], factors, start[one], turn, rates[one], ridge
        )
        np.testing.assert_array_equal(alone[0], together[u])


@pytest.mark.parametrize("isa", ["generic", "avx2"])
def test_other_instruction_sets_agree(isa):
    """In a process of its own, because the choice is made once."""
    script = (
        "import numpy as np, sys; sys.path.insert(0, sys.argv[1]); import test_descend as t;"
        "a = t.problem(np.random.default_rng(3), [0, 3, 17, 50], 33);"
        "np.testing.assert_allclose(t.descend_users(*a), t.twin(*a), rtol=1e-4, atol=1e-4)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env={**os.environ, "TACIT_ISA": isa}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("items", lambda a: a + 1000, IndexError),
        ("items", lambda a: a - 1000, IndexError),
        ("items", lambda a: a[:-1].copy(), ValueError),
        ("indptr", lambda a: a[:-1].copy(), ValueError),
        ("indptr", lambda a: a[::-1].copy(), ValueError),
        ("indptr", lambda a: a + 1, ValueError),
        ("targets", lambda a: a.astype(np.float64), TypeError),
        ("factors", lambda a: a[:, :-1].copy(), ValueError),
        ("factors", lambda a: a[:, :0].copy(), ValueError),
        ("start", lambda a: a[:-1].copy(), ValueError),
        ("start", lambda a: a[:, ::2], (TypeError, ValueError)),
        ("turn", lambda a: a[:-1].copy(), ValueError),
        ("rates", lambda a: a[:-1].copy(), ValueError),
    ],
)
def test_wrong_arguments_are_refused(rng, name, wrong, error):
    arguments = list(problem(rng, [2, 0, 5], 4))
    arguments[NAMES.index(name)] = wrong(arguments[NAMES.index(name)])
    with pytest.raises(error):
        descend_users(*arguments)
