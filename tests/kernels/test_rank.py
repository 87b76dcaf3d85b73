# SPDX-License-Identifier: Apache-2.0
"""The compiled ranking equals its NumPy twin, and nobody's list depends on who else is ranked."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels import _kernels as compiled
from tacit.kernels.reference import rank as twins


def make(seed, users, items, rank, *, whole):
    """Factors of which every product is exact, so that many scores are equal, or ordinary ones."""
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        drawn = rng.integers(-2, 3, shape) if whole else rng.standard_normal(shape)
        return drawn.astype(np.float32)

    rows = [np.sort(rng.permutation(items)[: rng.integers(0, items + 1)]) for _ in range(users)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    excluded = np.concatenate([np.empty(0, np.int32), *rows]).astype(np.int32)
    return numbers(users, rank), numbers(items, rank), numbers(items), indptr, excluded


def both(kernels, case, n):
    X, V, b, indptr, excluded = case
    packed = kernels.pack_items(V, b)
    return kernels.rank_users(X, packed, len(V), n, indptr, excluded)


@given(
    seed=st.integers(0, 2**32),
    users=st.sampled_from([0, 1, 2, 7, 8, 9, 49]),
    items=st.sampled_from([0, 1, 15, 47, 48, 49, 150]),
    rank=st.sampled_from([0, 1, 3, 16, 17]),
    n=st.sampled_from([1, 2, 10, 151]),
)
def test_equal_scores_come_in_the_order_of_items_as_in_the_twin(seed, users, items, rank, n):
    case = make(seed, users, items, rank, whole=True)
    for found, wanted in zip(both(compiled, case, n), both(twins, case, n), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_scores_are_those_of_the_twin(rng):
    case = make(1, 60, 500, 33, whole=False)
    chosen, scores = both(compiled, case, 20)
    wanted, wanted_scores = both(twins, case, 20)
    np.testing.assert_allclose(scores, wanted_scores, rtol=1e-5, atol=1e-5)
    assert np.mean(chosen == wanted) > 0.99


def test_packed_items_are_those_of_the_twin():
    for items, rank in ((0, 3), (1, 0), (48, 5), (100, 7)):
        _, V, b, *_ = make(2, 1, items, rank, whole=False)
        np.testing.assert_array_equal(compiled.pack_items(V, b), twins.pack_items(V, b))


@pytest.mark.parametrize("rank", [1, 16, 65, 128])
def test_nobody_depends_on_company(rank):
    X, V, b, indptr, excluded = make(3, 101, 333, rank, whole=False)
    packed = compiled.pack_items(V, b)
    chosen, scores = compiled.rank_users(X, packed, len(V), 12, indptr, excluded)
    for u in range(101):
        for end in (u + 1, min(u + 5, 101)):
            mine = excluded[indptr[u] : indptr[end]]
            some = compiled.rank_users(
                X[u:end], packed, len(V), 12, indptr[u : end + 1] - indptr[u], mine
            )
            np.testing.assert_array_equal(some[0], chosen[u:end])
            np.testing.assert_array_equal(some[1], scores[u:end])


def test_a_score_does_not_depend_on_where_its_item_is_packed():
    X, V, b, *_ = make(4, 9, 200, 64, whole=False)
    nobody = np.zeros(10, np.int64), np.empty(0, np.int32)

    def by_item(order):
        packed = compiled.pack_items(np.ascontiguousarray(V[order]), b[order])
        chosen, scores = compiled.rank_users(X, packed, 200, 200, *nobody)
        table = np.empty_like(scores)
        np.put_along_axis(table, np.asarray(order)[chosen], scores, axis=1)
        return table

    backward = by_item(np.arange(200)[::-1])
    np.testing.assert_array_equal(by_item(np.arange(200)), backward)


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_every_instruction_set_ranks_alike(isa):
    code = (
        "import importlib.util as u, numpy as np\n"
        f"s = u.spec_from_file_location('t', {__file__!r}); t = u.module_from_spec(s)\n"
        "s.loader.exec_module(t)\n"
        "for seed in range(20):\n"
        "    case = t.make(seed, 19, 130, 17, whole=True)\n"
        "    for a, b in zip(t.both(t.compiled, case, 9), t.both(t.twins, case, 9)):\n"
        "        np.testing.assert_array_equal(a, b)\n"
        "print(t.compiled.isa())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TACIT_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    if isa == "generic":
        assert ran.stdout.strip() == "generic"


def test_what_is_not_a_number_is_never_chosen():
    V = np.array([[np.nan], [1.0], [np.inf]], np.float32)
    packed = compiled.pack_items(V, np.array([0.0, 0.0, -np.inf], np.float32))
    nobody = np.zeros(2, np.int64), np.empty(0, np.int32)
    chosen, _ = compiled.rank_users(np.ones((1, 1), np.float32), packed, 3, 3, *nobody)
    assert chosen.tolist() == [[1, -1, -1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"items": 49}, "number of items"),
        ({"factors": np.ones((2, 3), np.float32)}, "same rank"),
        ({"indptr": np.array([0, 1], np.int64)}, "one entry more"),
        ({"indptr": np.array([0, 2, 1], np.int64)}, "ascend"),
        ({"indptr": np.array([0, 1, 9], np.int64)}, "ascend"),
        ({"excluded": np.array([4, 3, 9], np.int32)}, "ascend"),
        ({"excluded": np.array([3, 3, 9], np.int32)}, "ascend"),
        ({"excluded": np.array([-1, 3, 9], np.int32)}, "numbers of items"),
        ({"excluded": np.array([3, 48, 9], np.int32)}, "numbers of items"),
    ],
)
def test_arguments_are_checked(change, message):
    given = {
        "factors": np.ones((2, 2), np.float32),
        "packed": compiled.pack_items(np.ones((48, 2), np.float32), np.ones(48, np.float32)),
        "items": 48,
        "n": 3,
        "indptr": np.array([0, 2, 3], np.int64),
        "excluded": np.array([3, 4, 9], np.int32),
    }
    compiled.rank_users(**given)
    with pytest.raises(ValueError, match=message):
        compiled.rank_users(**given | change)
