# SPDX-License-Identifier: Apache-2.0
"""Compiled gradient steps are those of the NumPy twin, on any instruction set and thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.block import UserBlock
from tacit.descent.chunks import Survey, in_memory
from tacit.descent.state import State
from tacit.kernels import _kernels as compiled
from tacit.kernels.reference import sgd as twins


def make(seed, users=70, items=40, rank=5, order="deterministic"):
    """One chunk of made-up ratings, and a state to start from."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.permutation(items)[: rng.integers(0, items)]) for _ in range(users)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    rated = np.concatenate(rows).astype(np.int32)
    block = UserBlock(indptr, rated, rng.normal(0, 1, len(rated)).astype(np.float32), items)
    chunks = in_memory([block], Survey.of([block], items), order)
    (chunk,) = chunks.stream(0, 1)
    return chunk, State.first(users, chunks.numbering.rows, rank, seed), chunks


def stepped(kernel, chunk, state, groups, threads=1):
    """A copy of the state after one pass."""
    copy = State(**{name: array.copy() for name, array in state.arrays().items()}, rank=state.rank)
    board = np.zeros(1 + 2 * groups, np.int64)
    step = np.array([0.1, 0.05, 0.3], np.float32)
    arguments = (
        *(chunk.task_visits, chunk.visit_ratings, chunk.visit_user, chunk.items, chunk.values),
        *(step, copy.U, copy.V, copy.user_offsets, copy.item_offsets, board),
    )
    others = [threading.Thread(target=kernel, args=arguments) for _ in range(threads - 1)]
    for other in others:
        other.start()
    kernel(*arguments)
    for other in others:
        other.join()
    return copy, board


def compare(found, wanted, **tolerance):
    for name, array in wanted.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, err_msg=name, **tolerance)


@given(
    seed=st.integers(0, 2**32),
    rank=st.sampled_from([0, 1, 16, 17, 40, 64, 100, 128, 256, 300]),
    order=st.sampled_from(["deterministic", "lock-free"]),
)
def test_one_pass_is_that_of_the_twin(seed, rank, order):
    chunk, state, chunks = make(seed, users=20, items=15, rank=rank, order=order)
    groups = chunks.numbering.groups
    found, board = stepped(compiled.sgd_tasks, chunk, state, groups)
    wanted, its_board = stepped(twins.sgd_tasks, chunk, state, groups)
    compare(found, wanted, rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(board[1:], its_board[1:])
    assert not found.V[:, rank:].any()
    assert not found.U[:, rank:].any()


@pytest.mark.parametrize("rank", [3, 64, 300])
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_that_wait_for_each_other_change_no_bit(threads, rank):
    chunk, state, chunks = make(3, users=400, items=120, rank=rank)
    alone, _ = stepped(compiled.sgd_tasks, chunk, state, chunks.numbering.groups)
    for _ in range(5):
        together, _ = stepped(
            compiled.sgd_tasks, chunk, state, chunks.numbering.groups, threads=threads
        )
        compare(together, alone, rtol=0, atol=0)


def test_threads_without_locks_come_close():
    chunk, state, _ = make(3, users=400, items=120, rank=8, order="lock-free")
    alone, _ = stepped(compiled.sgd_tasks, chunk, state, 0)
    together, _ = stepped(compiled.sgd_tasks, chunk, state, 0, threads=3)
    assert np.corrcoef(alone.U.ravel(), together.U.ravel())[0, 1] > 0.9


def test_noise_is_added_to_the_rows_that_are_named(rng):
    rows = np.array([4, 0, 7], np.int32)
    scale = np.array([0.5, 2.0, 0.0], np.float32)
    noise = rng.integers(-(2**24), 2**24, (3, 5))
    found, wanted = (np.arange(160, dtype=np.float32).reshape(10, 16) for _ in range(2))
    before = found.copy()
    compiled.add_rows(rows, scale, noise, found)
    twins.add_rows(rows, scale, noise, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_array_equal(found[[1, 2, 3, 5, 6, 7, 8, 9]], before[[1, 2, 3, 5, 6, 7, 8, 9]])
    np.testing.assert_array_equal(found[:, 5:], before[:, 5:])


@pytest.mark.parametrize("isa", ["generic", "avx2"])
def test_every_instruction_set_takes_the_steps_of_the_twin(isa):
    """In another process, as the choice is made once."""
    tests = f"{__file__}::test_one_pass_is_that_of_the_twin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    environment = {**os.environ, "TACIT_ISA": isa}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


BAD = {
    "items": (lambda a: a.__setitem__(3, np.where(a[3] == 0, 99, a[3])), "numbers of rows"),
    "users": (lambda a: a.__setitem__(2, a[2] - 1), "numbers of rows"),
    "visits": (lambda a: a.__setitem__(1, a[1][::-1].copy()), "must rise"),
    "tasks": (lambda a: a.__setitem__(0, a[0][:-1].copy()), "groups"),
    "values": (lambda a: a.__setitem__(4, a[4][:-1].copy()), "every item needs its value"),
    "width": (lambda a: a.__setitem__(6, np.zeros((70, 15), np.float32)), "multiple of 16"),
    "offsets": (lambda a: a.__setitem__(8, a[8][:-1].copy()), "one offset for each row"),
    "step": (lambda a: a.__setitem__(5, a[5][:-1].copy()), "mean, rate, ridge"),
    "board": (lambda a: a.__setitem__(10, np.zeros(4, np.int64)), "board"),
}


@pytest.mark.parametrize("what", sorted(BAD))
def test_arrays_that_do_not_fit_together_are_refused(what):
    chunk, state, _ = make(1)
    arguments = [
        *(chunk.task_visits, chunk.visit_ratings, chunk.visit_user, chunk.items, chunk.values),
        np.array([0.1, 0.05, 0.3], np.float32),
        *(state.U, state.V, state.user_offsets, state.item_offsets, np.zeros(17, np.int64)),
    ]
    spoil, words = BAD[what]
    spoil(arguments)
    with pytest.raises(ValueError, match=words):
        compiled.sgd_tasks(*arguments)


def test_noise_for_rows_that_are_not_there_is_refused():
    out, scale, noise = np.zeros((2, 16), np.float32), np.ones(1, np.float32), np.zeros((1, 3), int)
    with pytest.raises(ValueError, match="numbers of rows"):
        compiled.add_rows(np.array([2], np.int32), scale, noise, out)
    with pytest.raises(ValueError, match="equally many"):
        compiled.add_rows(np.array([0, 1], np.int32), scale, noise, out)
    with pytest.raises(ValueError, match="wider"):
        compiled.add_rows(np.array([0], np.int32), scale, np.zeros((1, 17), np.int64), out)
