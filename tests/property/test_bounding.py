# SPDX-License-Identifier: Apache-2.0
"""Every bounding function keeps its bound for any row, and no user can move another's output."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import kernels
from tacit.bounding import clipping, grid, item_limit, weights
from tacit.data.block import UserBlock
from tacit.folding import Centring
from tacit.kernels.reference import sums as twins

N_ITEMS = 40
HEAVIEST = 10_677  # the catalogue of MovieLens 10M: one user may have rated all of it


def make_block(seed: int, lengths: list[int]) -> UserBlock:
    rng = np.random.default_rng(seed)
    items = [rng.choice(N_ITEMS, k, replace=False) for k in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *items]).astype(np.int32)
    values = (rng.normal(size=len(flat)) * 10.0 ** rng.integers(-3, 6)).astype(np.float32)
    return UserBlock(indptr, flat, values, N_ITEMS)


def norms2(q: np.ndarray, indptr: np.ndarray) -> list[int]:
    """Sum of squares of each row, in Python's own integers."""
    return [sum(x * x for x in q[start:stop].tolist()) for start, stop in pairwise(indptr.tolist())]


def noisy_counts(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(5, 50, N_ITEMS)


blocks = st.builds(
    make_block, st.integers(0, 2**32), st.lists(st.integers(0, N_ITEMS), min_size=1, max_size=8)
)
anything = st.floats(width=64) | st.sampled_from([1e30, -1e30, 5e-324, 2.0**31, 0.5, -0.5])


@given(
    st.lists(anything, max_size=200),
    st.floats(1e-300, 1e300),
    st.integers(1, 2**31 - 1) | st.integers(1, 5),
)
def test_snapped_rows_never_exceed_the_limit(row, step, limit):
    values, indptr = np.array(row, np.float64), np.array([0, len(row)], np.int64)
    for snap in (twins.snap_rows, kernels.snap_rows):
        assert norms2(snap(values, indptr, step, limit), indptr)[0] <= limit**2


@pytest.mark.parametrize("limit", [1, 7, 103, 4096, 2**14, 2**24, 2**31 - 1])
@pytest.mark.parametrize(
    "entry", [1e30, -np.inf, np.inf, np.nan, 5e-324, 0.5, 1.0, 1.5, 2.0**31, -(2.0**62)]
)
def test_the_heaviest_adversary_stays_within_the_limit(limit, entry):
    indptr = np.array([0, HEAVIEST], np.int64)
    alternating = np.full(HEAVIEST, entry)
    alternating[::2] *= -1
    at_limit = np.full(HEAVIEST, float(limit))
    spread = np.full(HEAVIEST, limit / np.sqrt(HEAVIEST) + 0.5)
    for values in (np.full(HEAVIEST, entry), alternating, at_limit, spread):
        for snap in (twins.snap_rows, kernels.snap_rows):
            assert norms2(snap(values, indptr, 1.0, limit), indptr)[0] <= limit**2


@given(st.integers(0, 2**32), st.integers(1, 3000), st.integers(8, 20))
def test_a_row_at_its_bound_loses_next_to_nothing(seed, length, bits):
    row = np.random.default_rng(seed).normal(size=length)
    row /= np.linalg.norm(row)
    indptr = np.array([0, length], np.int64)
    q = grid.snap(row, indptr, grid.step_for(1.0, bits), grid.limit_for(bits))
    nearest = np.rint(row / grid.step_for(1.0, bits))
    wanted = min(float(nearest @ nearest), float(4**bits)) ** 0.5
    assert norms2(q, indptr)[0] ** 0.5 >= wanted - 4 - length / 2**bits


@given(blocks, st.integers(4, 14))
def test_a_row_inside_the_bound_is_only_rounded(block, bits):
    inside = clipping.clip_rows(block.values, block.indptr, 0.4).astype(np.float64)
    step = grid.step_for(1.0, bits)
    q = grid.snap(inside, block.indptr, step, grid.limit_for(bits))
    for start, stop in pairs(block):
        nearest = np.rint(inside[start:stop] / step)
        if nearest @ nearest <= 4.0**bits:
            assert np.array_equal(q[start:stop], nearest)


@given(st.lists(anything, min_size=1, max_size=60), st.floats(1e-6, 1e6), st.integers(1, 5))
def test_clipping_keeps_its_bounds_for_any_input(row, bound, users):
    with np.errstate(over="ignore"):
        rows = np.resize(np.array(row), (users, len(row))).astype(np.float32)
    single = clipping.clip_values(rows, bound)
    assert single.dtype == np.float32
    assert (np.abs(single.astype(np.float64)) <= bound).all()
    indptr = np.arange(users + 1, dtype=np.int64) * len(row)
    for short in (
        clipping.clip_norms(rows, bound),
        clipping.clip_rows(rows.reshape(-1), indptr, bound).reshape(rows.shape),
    ):
        assert short.dtype == np.float32
        assert (np.linalg.norm(short.astype(np.float64), axis=1) <= bound).all()


@given(blocks, st.floats(0.01, 100))
def test_clipped_rows_are_never_lengthened_nor_turned(block, bound):
    rows = np.resize(block.values, (3, 7)) if len(block.values) else np.zeros((3, 7), np.float32)
    short = clipping.clip_norms(rows, bound)
    assert (np.abs(short) <= np.abs(rows)).all()
    for before, after in zip(rows.astype(np.float64), short.astype(np.float64), strict=True):
        length = float(np.linalg.norm(before))
        np.testing.assert_allclose(after * max(length, bound), before * bound, rtol=1e-5)


@given(blocks, st.integers(0, 2**32), st.floats(-5, 5), st.floats(1e-9, 1e9))
def test_weights_have_squares_that_sum_to_at_most_one(block, seed, power, floor):
    adaptive = weights.adaptive(block, noisy_counts=noisy_counts(seed), power=power, floor=floor)
    for w in (adaptive, weights.uniform(block)):
        assert (w > 0).all()
        squares = np.array([np.sum(w[a:b] ** 2) for a, b in pairs(block)])
        assert (squares <= 1).all()
        assert (squares[np.diff(block.indptr) > 0] > 1 - 1e-7).all()


@given(blocks, st.integers(1, 45), st.integers(-(2**70), 2**70))
def test_the_item_limit_holds_and_keeps_as_many_as_it_may(block, most, seed):
    for limited in limits(block, most, seed):
        assert np.array_equal(np.diff(limited.indptr), np.minimum(np.diff(block.indptr), most))
        for (a, b), (c, d) in zip(pairs(block), pairs(limited), strict=True):
            whole = dict(zip(block.items[a:b].tolist(), block.values[a:b].tolist(), strict=True))
            some = dict(zip(limited.items[c:d].tolist(), limited.values[c:d].tolist(), strict=True))
            assert some.items() <= whole.items()
            assert len(some) == d - c


def pairs(block: UserBlock) -> list[tuple[int, int]]:
    return list(pairwise(block.indptr.tolist()))


def limits(block: UserBlock, most: int, seed: int) -> tuple[UserBlock, UserBlock]:
    counts = noisy_counts(abs(seed) % 2**32)
    return (
        item_limit.uniform(block, most, seed=seed),
        item_limit.rarest_first(block, most, noisy_counts=counts),
    )


def outputs(block: UserBlock) -> list[tuple]:
    """All that the bounding functions say about each user of a block."""
    counts, offsets = noisy_counts(3), noisy_counts(4)
    per_rating = (
        Centring(offsets, mean_ridge=2.0).targets(block),
        clipping.clip_values(block.values, 0.5),
        clipping.clip_rows(block.values, block.indptr, 0.5),
        weights.uniform(block),
        weights.adaptive(block, noisy_counts=counts, power=0.25),
        grid.snap(block.values, block.indptr, 2.0**-8, 2**8),
    )
    limited = limits(block, 5, 11)
    return [
        (
            *(array[a:b].tobytes() for array in per_rating),
            *(
                (kept.items[c:d].tobytes(), kept.values[c:d].tobytes())
                for kept in limited
                for c, d in [(kept.indptr[u], kept.indptr[u + 1])]
            ),
        )
        for u, (a, b) in enumerate(pairs(block))
    ]


def gathered(block: UserBlock, order: np.ndarray) -> UserBlock:
    """The users of the block in another order."""
    spans = [pairs(block)[u] for u in order]
    where = np.concatenate([np.empty(0, np.int64), *(np.arange(a, b) for a, b in spans)])
    indptr = np.concatenate([[0], np.cumsum([b - a for a, b in spans])]).astype(np.int64)
    where = where.astype(np.int64)
    return UserBlock(indptr, block.items[where], block.values[where], block.n_items)


@given(blocks, st.integers(0, 2**32), st.integers(1, 60))
def test_no_user_can_move_the_output_of_another(block, seed, ratings_per_block):
    whole = outputs(block)
    assert [o for part in block.split(ratings_per_block) for o in outputs(part)] == whole
    order = np.random.default_rng(seed).permutation(block.n_users)
    assert outputs(gathered(block, order)) == [whole[u] for u in order]
    others = make_block(seed, [3, 0, N_ITEMS])
    joined = UserBlock(
        np.concatenate([others.indptr, others.indptr[-1] + block.indptr[1:]]),
        np.concatenate([others.items, block.items]),
        np.concatenate([others.values, block.values]),
        N_ITEMS,
    )
    assert outputs(joined)[others.n_users :] == whole
