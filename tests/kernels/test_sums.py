# SPDX-License-Identifier: Apache-2.0
"""The compiled integer sums equal their NumPy twins, bit for bit, on every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels import _kernels as compiled
from tacit.kernels.reference import sums as twins

NAMES = (
    "gram",
    "hash_rows",
    "keep_smallest",
    "scatter_gram",
    "scatter_outer",
    "scatter_pairs",
    "scatter_sum",
    "snap_rows",
    "sum_rows",
)
# Around the widths of registers and tiles of every instruction set.
RANKS = (0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65)
# Small numbers take the narrow sums, 15 bits the middle ones, 31 bits the wide ones.
BITS = (0, 1, 6, 10, 15, 22, 31)


def make(seed: int, *, users: int, n_items: int, longest: int, rank: int, bits: int, more: int):
    """Random rows with distinct items, some empty; extremes of both signs occur."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, min(longest, n_items) + 1, users)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    items = [rng.choice(n_items, k, replace=False) for k in lengths]

    def integers(size, edge):
        extremes = np.array([-edge, -edge + 1, 0, edge - 1])
        plain = rng.integers(-edge, edge, size)
        return np.where(rng.random(size) < 0.1, rng.choice(extremes, size), plain).astype(np.int32)

    return SimpleNamespace(
        indptr=indptr,
        items=np.concatenate([np.empty(0, np.int64), *items]).astype(np.int32),
        amounts=integers(indptr[-1], 2**more),
        rows=integers((users, rank), 2**bits),
        rank=rank,
        n_items=n_items,
        start=int(rng.integers(-(2**62), 2**62)),
    )


def results(kernels, case):
    """Everything one set of kernels says about a case."""
    c, triangle = case, case.rank * (case.rank + 1) // 2
    users = len(c.indptr) - 1
    per_user = np.resize(c.amounts, users).astype(np.int32) if len(c.amounts) else users * [1]

    def out(*shape):
        return np.full(shape, c.start, np.int64)

    sums = {
        "scatter_sum": out(c.n_items),
        "scatter_outer": out(c.n_items, c.rank),
        "scatter_gram": out(c.n_items, triangle),
        "gram": out(triangle),
        "scatter_pairs": out(c.n_items * (c.n_items + 1) // 2),
    }
    kernels.scatter_sum(c.items, c.amounts, sums["scatter_sum"])
    kernels.scatter_outer(c.indptr, c.items, c.amounts, c.rows, sums["scatter_outer"])
    kernels.scatter_gram(c.indptr, c.items, c.amounts, c.rows, sums["scatter_gram"])
    kernels.gram(c.rows, np.asarray(per_user, np.int32), sums["gram"])
    kernels.scatter_pairs(c.indptr, c.items, c.amounts, sums["scatter_pairs"])
    keys = kernels.hash_rows(c.indptr, c.items, c.start)
    sums["hash_rows"] = keys
    few = keys % np.uint64(5)  # with ties
    sums["keep_smallest"] = kernels.keep_smallest(c.indptr, few, 3)
    return sums


def snaps(kernels, values, indptr, step, limit):
    single = np.nan_to_num(values).clip(-1e30, 1e30).astype(np.float32)
    return {
        "doubles": kernels.snap_rows(values, indptr, step, limit),
        "floats": kernels.snap_rows(single, indptr, step, limit),
        "sum_doubles": kernels.sum_rows(np.nan_to_num(values).clip(-1e30, 1e30), indptr),
        "sum_floats": kernels.sum_rows(single, indptr),
    }


def assert_same(one, other):
    for name, value in one.items():
        assert value.dtype == other[name].dtype, name
        assert np.array_equal(value, other[name]), name


def real_rows(seed, lengths, magnitude):
    """Rows of reals in which everything that floating point has to offer may occur."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = rng.normal(size=indptr[-1]) * 10.0**magnitude
    odd = np.array([np.nan, np.inf, -np.inf, 1e30, -1e308, 5e-324, -0.0, 0.5, 1.5, 2.0**31])
    where = rng.random(len(values)) < rng.choice([0.0, 0.1, 1.0])
    return np.where(where, rng.choice(odd, len(values)), values), indptr


cases = st.builds(
    make,
    st.integers(0, 2**32),
    users=st.integers(0, 30),
    n_items=st.integers(1, 25),
    longest=st.integers(0, 25),
    rank=st.sampled_from(RANKS),
    bits=st.sampled_from(BITS),
    more=st.sampled_from(BITS),
)


@given(cases)
def test_sums_equal_their_twins(case):
    assert_same(results(twins, case), results(compiled, case))


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 60), max_size=8),
    st.integers(-8, 12),
    st.sampled_from([1e-3, 0.1, 1.0, 3.0, 2.0**-12, 1e-300]),
    st.sampled_from([1, 2, 3, 100, 4096, 2**20, 2**31 - 1]),
)
def test_snapping_equals_its_twin(seed, lengths, magnitude, step, limit):
    values, indptr = real_rows(seed, lengths, magnitude)
    arguments = (values, indptr, step, limit)
    assert_same(snaps(twins, *arguments), snaps(compiled, *arguments))


def agree_on_fixed_seeds() -> str:
    """Run by the next test in a process of its own, with the instruction set lowered."""
    for seed, rank in enumerate(RANKS):
        for bits, more in ((6, 6), (13, 13), (31, 31), (22, 10)):
            sizes = {"users": 40, "n_items": 13, "longest": 13}
            case = make(seed, rank=rank, bits=bits, more=more, **sizes)
            assert_same(results(twins, case), results(compiled, case))
        values, indptr = real_rows(seed, [0, 300, 7, 1], seed - 5)
        for limit in (3, 4096, 2**31 - 1):
            arguments = (values, indptr, 2.0**-12, limit)
            assert_same(snaps(twins, *arguments), snaps(compiled, *arguments))
    return compiled.isa()


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_every_instruction_set_equals_the_twins(isa):
    code = f"import runpy; print(runpy.run_path({__file__!r})['agree_on_fixed_seeds']())"
    environment = os.environ | {"TACIT_ISA": isa}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    used = ran.stdout.strip()
    if used != isa:
        pytest.skip(f"this machine or build has no {isa}, it ran {used}")


def test_many_raters_of_one_item_are_added_without_loss():
    """Long enough that every narrow sum must be written back many times."""
    users, rank = 3000, 18
    indptr = np.arange(users + 1, dtype=np.int64)
    items = np.zeros(users, np.int32)
    odd = [(2**bits - 1, 2**bits - 1) for bits in (13, 14, 16, 24)]
    for amount, x in (*odd, (-(2**15), -(2**15)), (2**20 + 1, 2**17 + 1), (1, -(2**31))):
        amounts = np.full(users, amount, np.int32)
        rows = np.full((users, rank), x, np.int32)
        outer = np.zeros((1, rank), np.int64)
        compiled.scatter_outer(indptr, items, amounts, rows, outer)
        assert (outer == users * amount * x).all()
        wanted = users * amount * x * x
        if abs(wanted) < 2**63:
            packed = np.zeros((1, rank * (rank + 1) // 2), np.int64)
            compiled.scatter_gram(indptr, items, amounts, rows, packed)
            assert (packed == wanted).all()
            compiled.gram(rows, amounts, packed[0])
            assert (packed == 2 * wanted).all()


def test_threads_on_separate_outputs_give_the_same_sums():
    case = make(7, users=400, n_items=25, longest=25, rank=33, bits=13, more=10)
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(lambda _: results(compiled, case), range(8)))
    for one in many:
        assert_same(results(twins, case), one)


def test_the_package_picks_the_compiled_kernels():
    from tacit import kernels

    if os.environ.get("TACIT_KERNELS") == "reference":
        pytest.skip("the twins were asked for")
    assert kernels.isa() == compiled.isa()
    for name in NAMES:
        assert getattr(kernels, name) is getattr(compiled, name)


def test_the_package_runs_on_the_twins_when_asked():
    code = "import tacit.kernels as k; print(k.isa(), k.gram.__module__)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TACIT_KERNELS": "reference"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["reference", twins.__name__]


INDPTR = np.array([0, 2, 3], np.int64)
ITEMS = np.array([0, 2, 1], np.int32)
AMOUNTS = np.array([1, 2, 3], np.int32)
ROWS = np.ones((2, 4), np.int32)


@pytest.mark.parametrize("item", [3, -1, 2**31 - 1, -(2**31)])
def test_an_item_outside_the_catalogue_is_an_index_error(item):
    items = np.array([0, item, 1], np.int32)
    calls = (
        lambda: compiled.scatter_sum(items, AMOUNTS, np.zeros(3, np.int64)),
        lambda: compiled.scatter_outer(INDPTR, items, AMOUNTS, ROWS, np.zeros((3, 4), np.int64)),
        lambda: compiled.scatter_gram(INDPTR, items, AMOUNTS, ROWS, np.zeros((3, 10), np.int64)),
        lambda: compiled.scatter_pairs(INDPTR, items, AMOUNTS, np.zeros(6, np.int64)),
    )
    for call in calls:
        with pytest.raises(IndexError, match="outside the catalogue") as caught:
            call()
        assert str(item) not in str(caught.value)


@pytest.mark.parametrize(
    ("indptr", "rule"),
    [
        ([], "one entry more"),
        ([1, 2, 3], "start at 0"),
        ([0, 5, 3], "ascend"),
        ([0, 2, 2], "number of ratings"),
        ([0, 2, 4], "number of ratings"),
    ],
)
def test_a_row_pointer_that_does_not_fit_is_refused(indptr, rule):
    indptr = np.array(indptr, np.int64)
    keys = np.zeros(3, np.uint64)
    out = np.zeros((3, 4), np.int64)
    for call in (
        lambda: compiled.snap_rows(np.zeros(3), indptr, 1.0, 5),
        lambda: compiled.sum_rows(np.zeros(3), indptr),
        lambda: compiled.hash_rows(indptr, ITEMS, 0),
        lambda: compiled.keep_smallest(indptr, keys, 1),
        lambda: compiled.scatter_outer(indptr, ITEMS, AMOUNTS, ROWS, out),
    ):
        with pytest.raises(ValueError, match=rule):
            call()


def test_shapes_that_disagree_are_refused():
    short, wide = AMOUNTS[:2], np.zeros((3, 5), np.int64)
    for call, rule in (
        (lambda: compiled.scatter_sum(ITEMS, short, np.zeros(3, np.int64)), "one per rating"),
        (lambda: compiled.scatter_outer(INDPTR, ITEMS, AMOUNTS, ROWS, wide), "same rank"),
        (lambda: compiled.scatter_outer(INDPTR, ITEMS, AMOUNTS, ROWS[:1], wide), "one per user"),
        (lambda: compiled.scatter_gram(INDPTR, ITEMS, AMOUNTS, ROWS, wide), "sums per item"),
        (lambda: compiled.scatter_gram(INDPTR, ITEMS, AMOUNTS, ROWS[:1], wide), "one per user"),
        (lambda: compiled.scatter_pairs(INDPTR, ITEMS, AMOUNTS, wide[0]), "triangle"),
        (lambda: compiled.gram(ROWS, AMOUNTS, wide[0]), "one per user"),
        (lambda: compiled.gram(ROWS, short, wide[0]), "sums"),
    ):
        with pytest.raises(ValueError, match=rule):
            call()


@pytest.mark.parametrize("out", [np.zeros(3), np.zeros(3, np.int32), np.zeros(6, np.int64)[::2]])
def test_an_output_that_would_be_copied_is_refused(out):
    with pytest.raises(TypeError):
        compiled.scatter_sum(ITEMS, AMOUNTS, out)


@pytest.mark.parametrize("kernels", [compiled, twins])
@pytest.mark.parametrize(
    ("step", "limit"), [(0.0, 5), (-1.0, 5), (np.nan, 5), (np.inf, 5), (1.0, 0), (1.0, 2**31)]
)
def test_a_grid_without_a_step_or_limit_is_refused(kernels, step, limit):
    with pytest.raises(ValueError, match="step must be > 0"):
        kernels.snap_rows(np.ones(3), INDPTR, step, limit)
