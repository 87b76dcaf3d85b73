# SPDX-License-Identifier: Apache-2.0
"""The compiled user solve against its NumPy twin, and what it promises beyond equality."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.reference.solve import solve_users as twin

_kernels = pytest.importorskip("tacit.kernels._kernels", reason="the extension is not built")
solve_users = _kernels.solve_users

EPSILON = float(np.finfo(np.float32).eps)
NAMES = ("indptr", "items", "targets", "weights", "factors", "ridge", "prior")


def problem(rng, counts, rank, *, n_items=None, prior=False, ridge=0.5):
    """Arguments of solve_users for users with these numbers of ratings."""
    counts = np.asarray(counts)
    n_items = n_items or max(int(counts.max(initial=1)), 1) + 3
    total = int(counts.sum())
    rows = [rng.choice(n_items, c, replace=False) for c in counts]
    root = rng.normal(size=(rank, max(rank // 2, 1))) if prior else np.zeros((rank, 1))
    return (
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([*rows, np.empty(0)]).astype(np.int32),
        rng.normal(size=total).astype(np.float32),
        np.where(rng.random(total) < 0.1, 0, rng.random(total)).astype(np.float32),
        rng.normal(size=(n_items, rank)).astype(np.float32),
        (ridge * rng.uniform(0.5, 2, len(counts))).astype(np.float32),
        (root @ root.T).astype(np.float32),
    )


def one_user(arguments, user):
    """The same user alone."""
    indptr, items, targets, weights, factors, ridge, prior = arguments
    here = slice(indptr[user], indptr[user + 1])
    alone = np.array([0, indptr[user + 1] - indptr[user]])
    return (
        alone,
        items[here].copy(),
        targets[here].copy(),
        weights[here].copy(),
        factors,
        ridge[user : user + 1].copy(),
        prior,
    )


def allowed_error(arguments, user, expected):
    """What rounding to float32 may move in the right-hand side and in the system."""
    _, items, targets, weights, factors, ridge, prior = one_user(arguments, user)
    rows = factors[items].astype(np.float64)
    gram = rows.T @ (rows * weights[:, None]) + prior
    spectrum = np.linalg.eigvalsh(gram + float(ridge[0]) * np.eye(factors.shape[1]))
    right = np.linalg.norm(np.abs(rows).T @ np.abs(weights * targets))
    return 8 * EPSILON * (spectrum[-1] * np.linalg.norm(expected) + right) / spectrum[0]


def assert_close_to_twin(solved, arguments):
    """Every row within what float32 can do for a system of its conditioning."""
    expected = twin(*arguments)
    assert solved.dtype == np.float32
    assert solved.shape == expected.shape
    for user, row in enumerate(expected):
        assert np.linalg.norm(solved[user] - row) <= allowed_error(arguments, user, row), user


@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=9),
    rank=st.integers(1, 40),
    prior=st.booleans(),
    ridge=st.sampled_from([1e-2, 1.0, 30.0]),
    seed=st.integers(0, 2**16),
)
def test_equals_its_twin(counts, rank, prior, ridge, seed):
    rng = np.random.default_rng(seed)
    arguments = problem(rng, counts, rank, prior=prior, ridge=ridge)
    assert_close_to_twin(solve_users(*arguments), arguments)


@pytest.mark.parametrize("rank", range(1, 131))
def test_equals_its_twin_at_every_rank(rank):
    """Users around the switch from dual to primal, and one longer than a chunk of ratings."""
    rng = np.random.default_rng(rank)
    low = (rank - 1) // 16 * 16
    counts = [0, 1, max(low - 1, 0), low, low + 1, rank - 1, rank, rank + 1, 3 * rank + 150]
    arguments = problem(rng, counts, rank, prior=rank % 3 == 0)
    assert_close_to_twin(solve_users(*arguments), arguments)


@pytest.mark.parametrize("rank", [20, 48, 64, 128])
def test_dual_and_primal_agree(rank):
    """A prior too small to matter forces the primal form; the default is dual for these users."""
    rng = np.random.default_rng(rank)
    counts = np.arange(1, (rank - 1) // 16 * 16 + 1, 5)
    arguments = problem(rng, counts, rank)
    forced = (*arguments[:-1], np.diag(np.full(rank, 1e-30, np.float32)))
    assert_close_to_twin(solve_users(*arguments), arguments)
    assert_close_to_twin(solve_users(*forced), arguments)
    assert not np.array_equal(solve_users(*arguments), solve_users(*forced))


@given(
    counts=st.lists(st.integers(0, 90), min_size=1, max_size=12),
    rank=st.sampled_from([1, 5, 8, 10, 16, 20, 32, 64, 70]),
    prior=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_bits_of_a_row_depend_on_no_neighbour(counts, rank, prior, seed):
    rng = np.random.default_rng(seed)
    arguments = problem(rng, counts, rank, prior=prior)
    together = solve_users(*arguments)
    for user in range(len(counts)):
        assert np.array_equal(solve_users(*one_user(arguments, user))[0], together[user])
    indptr, items, targets, weights, factors, ridge, prior_matrix = arguments
    backwards = np.arange(len(counts))[::-1]
    order = np.concatenate([np.arange(indptr[u], indptr[u + 1]) for u in backwards])
    reversed_rows = solve_users(
        np.concatenate([[0], np.cumsum(np.diff(indptr)[::-1])]),
        items[order],
        targets[order],
        weights[order],
        factors,
        ridge[backwards].copy(),
        prior_matrix,
    )
    assert np.array_equal(reversed_rows[::-1], together)


def test_bits_are_the_same_on_threads_and_in_blocks():
    rng = np.random.default_rng(5)
    arguments = problem(rng, rng.integers(0, 120, 203), 48)
    indptr, items, targets, weights, factors, ridge, prior = arguments

    def part(start):
        stop = min(start + 17, len(ridge))
        rows = indptr[start : stop + 1].copy()  # not starting at zero
        return solve_users(rows, items, targets, weights, factors, ridge[start:stop].copy(), prior)

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(part, range(0, len(ridge), 17)))
    assert np.array_equal(np.concatenate(parts), solve_users(*arguments))


def in_subprocess(code, *paths, **environment):
    """Standard output of a Python process with these settings."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512"])
def test_every_instruction_set_is_close_to_the_twin_and_independent_of_neighbours(isa, tmp_path):
    rng = np.random.default_rng(6)
    sizes = [(rank, problem(rng, rng.integers(0, 150, 23), rank)) for rank in (1, 10, 20, 64, 100)]
    for rank, arguments in sizes:
        np.savez(tmp_path / f"{rank}.npz", **dict(zip(NAMES, arguments, strict=True)))
    code = (
        "import sys, numpy as np\n"
        "from tacit.kernels import _kernels\n"
        "print(_kernels.isa())\n"
        "for path in sys.argv[1:]:\n"
        "    a = dict(np.load(path))\n"
        "    np.save(path + '.all.npy', _kernels.solve_users(**a))\n"
        "    a['indptr'], a['ridge'] = a['indptr'][-2:].copy(), a['ridge'][-1:].copy()\n"
        "    np.save(path + '.last.npy', _kernels.solve_users(**a))\n"
    )
    paths = [tmp_path / f"{rank}.npz" for rank, _ in sizes]
    if in_subprocess(code, *paths, TACIT_ISA=isa) != isa:
        pytest.skip(f"this machine or build has no {isa}")
    for rank, arguments in sizes:
        together = np.load(tmp_path / f"{rank}.npz.all.npy")
        assert_close_to_twin(together, arguments)
        assert np.array_equal(np.load(tmp_path / f"{rank}.npz.last.npy")[0], together[-1])


def test_the_twin_is_picked_on_request():
    code = "import tacit.kernels as k; print(k.solve_users.__module__)"
    assert in_subprocess(code, TACIT_KERNELS="reference") == "tacit.kernels.reference.solve"


@pytest.mark.parametrize("rank", [3, 16, 40])
def test_users_without_ratings_or_weight_get_zeros(rank):
    rng = np.random.default_rng(rank)
    arguments = problem(rng, [0, 7, 0, 0, 50, 0], rank)
    arguments[3][:] = 0
    assert not solve_users(*arguments).any()
    none = problem(rng, [], rank)
    assert solve_users(*none).shape == (0, rank)


@pytest.mark.parametrize("count", [10, 200])
@pytest.mark.parametrize(
    ("size", "ridge"), [(1e-30, 1e-38), (1.0, 1e-30), (1e15, 1e-3), (1e25, 1.0), (3e38, 1e-38)]
)
def test_finite_input_gives_finite_rows(count, size, ridge):
    """Also where every float product overflows, and where many factors are the same."""
    rng = np.random.default_rng(1)
    indptr, items, targets, weights, factors, _, prior = problem(rng, [count] * 5, 40)
    factors[:, 1::2] = factors[:, ::2]
    factors[::2] = factors[0]
    factors = (np.clip(factors, -1, 1) * np.float32(size)).astype(np.float32)
    targets = np.clip(targets, -1, 1) * np.float32(size)
    ridges = np.full(5, ridge, np.float32)
    solved = solve_users(indptr, items, targets, weights, factors, ridges, prior)
    assert np.isfinite(solved).all()


@pytest.mark.parametrize("count", [20, 300])
def test_what_float_cannot_carry_is_solved_in_double(count):
    """Squares of these factors overflow float, the solution itself is ordinary."""
    rng = np.random.default_rng(2)
    arguments = list(problem(rng, [count] * 3, 33))
    arguments[2] *= np.float32(1e15)
    arguments[4] *= np.float32(1e22)
    arguments[5][:] = 3e37
    expected = twin(*arguments)
    assert np.linalg.norm(expected) > 0
    error = np.linalg.norm(solve_users(*arguments) - expected)
    assert error < 1e-5 * np.linalg.norm(expected)


def test_singular_gram_with_tiny_ridge_still_fits():
    """Equal columns: pivots cancel to nothing in float, yet the fit is as good as the twin's."""
    rng = np.random.default_rng(3)
    arguments = problem(rng, [300] * 4, 32, ridge=1e-6)
    factors, targets, weights = arguments[4], arguments[2], arguments[3]
    factors[:, 16:] = factors[:, :16]

    def loss(solved):
        predicted = (np.repeat(solved, 300, axis=0) * factors[arguments[1]]).sum(1)
        return float((weights * (targets - predicted) ** 2).sum())

    assert loss(solve_users(*arguments)) == pytest.approx(loss(twin(*arguments)), rel=1e-4)


def replaced(arguments, **changes):
    return {**dict(zip(NAMES, arguments, strict=True)), **changes}


def bad_calls():
    rng = np.random.default_rng(4)
    good = problem(rng, [3, 40], 8)
    indptr, items, targets, weights, factors, ridge, prior = good
    wide = np.ones((8, 16), np.float32)
    below, above = items.copy(), items.copy()
    below[5], above[5] = -1, len(factors)
    cases = {
        "indptr dtype": ({"indptr": indptr.astype(np.int32)}, ValueError, "indptr must be int64"),
        "items dtype": ({"items": items.astype(np.int64)}, ValueError, "items must be int32"),
        "targets dtype": ({"targets": targets.astype(np.float64)}, ValueError, "float32"),
        "weights dtype": ({"weights": weights.astype(np.float64)}, ValueError, "float32"),
        "factors dtype": ({"factors": factors.astype(np.float64)}, ValueError, "float32"),
        "ridge dtype": ({"ridge": ridge.astype(np.float64)}, ValueError, "float32"),
        "prior dtype": ({"prior": prior.astype(np.float64)}, ValueError, "float32"),
        "factors 1-d": ({"factors": factors[0].copy()}, ValueError, "2-dimensional"),
        "items 2-d": ({"items": items[:, None]}, ValueError, "items must be 1-dimensional"),
        "targets strided": (
            {"targets": np.repeat(targets, 2)[::2]},
            ValueError,
            "targets must be C-contiguous: pass numpy.ascontiguousarray",
        ),
        "factors strided": ({"factors": np.asfortranarray(factors)}, ValueError, "contiguous"),
        "prior strided": ({"prior": wide[:, ::2]}, ValueError, "prior must be C-contiguous"),
        "short targets": ({"targets": targets[:-1]}, ValueError, "targets must be as long"),
        "short weights": ({"weights": weights[:-1]}, ValueError, "weights must be as long"),
        "short ridge": ({"ridge": ridge[:-1]}, ValueError, "ridge must have one entry"),
        "prior shape": ({"prior": wide}, ValueError, "prior must have as many rows"),
        "no rank": ({"factors": factors[:, :0].copy()}, ValueError, "at least one column"),
        "no indptr": ({"indptr": indptr[:0]}, ValueError, "one entry more"),
        "indptr falls": ({"indptr": indptr[[0, 2, 1]]}, ValueError, "indptr must ascend"),
        "indptr negative": ({"indptr": indptr - 1}, ValueError, "indptr must ascend"),
        "indptr too long": ({"indptr": indptr + 1}, ValueError, "indptr must ascend"),
        "negative item": ({"items": below}, IndexError, "items must be row numbers"),
        "item too large": ({"items": above}, IndexError, "items must be row numbers"),
        "no factors": ({"factors": factors[:0]}, IndexError, "items must be row numbers"),
        "negative weight": ({"weights": weights - 9}, ValueError, "weights must be at least 0"),
        "NaN weight": ({"weights": weights * np.float32(np.nan)}, ValueError, "weights must be"),
        "no ridge": ({"ridge": ridge * 0}, ValueError, "ridge must be positive"),
        "NaN ridge": ({"ridge": ridge * np.float32(np.nan)}, ValueError, "ridge must be positive"),
    }
    for name, (changes, error, message) in cases.items():
        yield pytest.param(replaced(good, **changes), error, message, id=name)


@pytest.mark.parametrize(("arguments", "error", "message"), list(bad_calls()))
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        solve_users(**arguments)
    assert "solve_users" in str(caught.value)


def test_lists_are_refused():
    arguments = problem(np.random.default_rng(0), [2], 2)
    with pytest.raises(TypeError):
        solve_users(list(arguments[0]), *arguments[1:])
