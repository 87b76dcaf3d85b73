# SPDX-License-Identifier: Apache-2.0
"""A memo saves time and changes no bit: not with threads, nor block sizes, nor a full memory."""

from __future__ import annotations

import copy
import pickle
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest

from tacit.contributions.memo import key_of, replayed
from tacit.data.block import UserBlock
from tacit.data.memory import Memory, Recollection, SpilledMemory

N_ITEMS = 30


@dataclass
class Work:
    """How many rows of states were really computed."""

    steps: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, users):
        with self.lock:
            self.steps += users


@dataclass(frozen=True, eq=False)
class Walk:
    """One step of a replay that depends on the order of steps: state <- state * gain + row sum."""

    gain: float
    before: Walk | None
    along: str
    work: Work

    @property
    def key(self):
        return key_of(self.before, "walk", self.along, self.gain)

    def start(self, block):
        return np.ones((len(block.items) if self.along == "ratings" else block.n_users, 2))

    def advance(self, block, state):
        self.work.add(len(state))
        if self.along == "ratings":
            return state * self.gain + block.values[:, None] * [1.0, 0.5]
        sums = [block.values[a:b].sum() for a, b in pairwise(block.indptr)]
        return state * self.gain + np.outer(sums, [1.0, 0.5])


def walks(gains, along, work):
    last = None
    for gain in gains:
        last = Walk(gain, last, along, work)
        yield last


@pytest.fixture
def users(rng):
    sizes = [0, *rng.integers(0, 12, 60), N_ITEMS, 0]
    items = [np.sort(rng.permutation(N_ITEMS)[:size]) for size in sizes]
    return UserBlock(
        indptr=np.cumsum([0, *sizes]).astype(np.int64),
        items=np.concatenate(items).astype(np.int32),
        values=rng.integers(1, 6, sum(sizes)).astype(np.float32),
        n_items=N_ITEMS,
    )


def on_disk(users, folder):
    """The same rows with a memory in files."""
    memory = SpilledMemory(folder)
    places = slice(0, users.n_users), slice(0, len(users.items))
    return replace(users, memo=Recollection(memory, *places))


@pytest.fixture(params=["in memory", "on disk"])
def remembering(request, users, tmp_path):
    return users.remembering() if request.param == "in memory" else on_disk(users, tmp_path)


def all_states(step, block, size, threads=1):
    pieces = list(block.split(size))
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda piece: replayed(step, piece), pieces)))


@pytest.mark.parametrize("along", ["users", "ratings"])
@pytest.mark.parametrize("sizes", [[10, 10, 10], [10, 25, 1], [10**9, 3, 50]])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_bits_are_those_of_a_full_replay(users, remembering, along, sizes, threads):
    for step, size in zip(walks([0.5, 0.25, 3.0], along, Work()), sizes, strict=True):
        for block in (users, remembering):
            found = all_states(step, block, size, threads)
            np.testing.assert_array_equal(found, step_by_step(step, users))


def step_by_step(step, block):
    before = step.start(block) if step.before is None else step_by_step(step.before, block)
    return Walk.advance(Walk(step.gain, None, step.along, Work()), block, before)


@pytest.mark.parametrize("along", ["users", "ratings"])
def test_each_step_is_computed_once(users, remembering, along):
    work = Work()
    for t, step in enumerate(walks([0.5, 0.25, 3.0, 2.0], along, work), 1):
        for size in (7, 19):  # the second pass, in other blocks, recalls this very step
            all_states(step, remembering, size, threads=3)
            assert work.steps == t * (users.n_users if along == "users" else len(users.items))


def test_without_a_memory_users_start_over(users):
    work = Work()
    for step in walks([0.5, 0.25, 3.0], "users", work):
        replayed(step, users)
    assert work.steps == (1 + 2 + 3) * users.n_users


def test_what_is_not_the_very_same_is_not_recalled(users, remembering):
    """Another number, another order, another history: nothing is found, and nothing is mixed up."""
    histories = [0.5, 0.25], [0.75, 0.25], [0.5, 0.75], [0.25, 0.5], [0.75, 0.25], [0.5]
    for gains in (*histories, histories[0]):
        for along in ("users", "ratings"):
            *_, step = walks(gains, along, Work())
            np.testing.assert_array_equal(
                all_states(step, remembering, 11), step_by_step(step, users)
            )


def test_a_part_that_was_not_kept_is_not_recalled(users, remembering):
    work = Work()
    first, second = walks([0.5, 0.25], "users", work)
    replayed(first, remembering.rows(0, 10))
    found = replayed(second, remembering.rows(5, 20))
    np.testing.assert_array_equal(found, step_by_step(second, users.rows(5, 20)))
    assert work.steps == 10 + 2 * 15


def test_what_is_recalled_is_a_copy(users, remembering):
    (step,) = walks([0.5], "users", Work())
    replayed(step, remembering)[:] = np.nan
    replayed(step, remembering)[:] = np.nan
    assert np.all(np.isfinite(replayed(step, remembering)))


def test_a_memory_that_is_too_small_keeps_nothing(users):
    memory = Memory(users.n_users, len(users.items), most_bytes=users.n_users * 16 - 1)
    small = UserBlock(users.indptr, users.items, users.values, N_ITEMS, memory.everyone())
    work = Work()
    (step,) = walks([0.5], "users", work)
    for _ in range(2):
        np.testing.assert_array_equal(replayed(step, small), step_by_step(step, users))
    assert work.steps == 2 * users.n_users


def test_other_rows_do_not_share_the_memory(users, remembering):
    """Values or ratings that changed are other rows; a result must not survive the change."""
    (step,) = walks([0.5], "users", Work())
    replayed(step, remembering)
    doubled = remembering.with_values(2 * users.values)
    fewer = remembering.keep(users.items % 2 == 0)
    for block in (doubled, fewer):
        np.testing.assert_array_equal(replayed(step, block), step_by_step(step, block))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_what_users_know_does_not_travel(users, duplicate):
    remembering = users.remembering()
    work = Work()
    (step,) = walks([0.5], "users", work)
    replayed(step, remembering)
    elsewhere = duplicate(remembering.rows(3, 9))
    np.testing.assert_array_equal(replayed(step, elsewhere), step_by_step(step, users.rows(3, 9)))
    assert work.steps == users.n_users + 6


def test_keys_differ_where_public_inputs_do():
    one, other = np.arange(6.0), np.arange(6, dtype=np.float32)
    inputs = [(one,), (other,), (one.reshape(2, 3),), (one, 1.0), (one, 1), (one, "1"), (1.0, 2.0)]
    inputs += [(one + 1e-12,), (one[:3], one[3:]), (), (None,)]
    assert len({key_of(None, *each) for each in inputs}) == len(inputs)


# --- on disk -------------------------------------------------------------------------------------


def test_the_files_have_no_name_and_the_space_is_given_back(users, tmp_path):
    remembering = on_disk(users, tmp_path)
    (step,) = walks([0.5], "ratings", Work())
    replayed(step, remembering)
    assert list(tmp_path.iterdir()) == []
    remembering.memo.memory.close()
    np.testing.assert_array_equal(replayed(step, remembering), step_by_step(step, users))


def test_a_state_of_another_shape_takes_the_place_of_the_old_one(users, tmp_path):
    memory = on_disk(users, tmp_path).memo
    for width, kind in ((2, np.float64), (3, np.float64), (3, np.float32), (2, np.float64)):
        states = np.arange(users.n_users * width, dtype=kind).reshape(-1, width)
        memory.keep(f"{width}{kind}".encode(), "users", states)
        np.testing.assert_array_equal(memory.recall(f"{width}{kind}".encode(), "users"), states)


@pytest.mark.parametrize("along", ["users", "ratings"])
def test_a_full_disk_costs_time_and_nothing_else(users, tmp_path, along):
    """A file may grow to so many bytes and then no more, at any point of states and stamps."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in (0, 5, 100, 400, 1500):
        remembering = on_disk(users, tmp_path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
        try:
            for step in walks([0.5, 0.25, 3.0], along, Work()):
                found = all_states(step, remembering, 10, threads=2)
                np.testing.assert_array_equal(found, step_by_step(step, users))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_folder_that_is_gone_costs_time_and_nothing_else(users, tmp_path):
    remembering = on_disk(users, tmp_path / "absent")
    work = Work()
    (step,) = walks([0.5], "users", work)
    for _ in range(2):
        np.testing.assert_array_equal(replayed(step, remembering), step_by_step(step, users))
    assert work.steps == 2 * users.n_users


def test_what_lies_on_disk_does_not_travel(users, tmp_path):
    with pytest.raises(TypeError, match="does not travel"):
        pickle.dumps(on_disk(users, tmp_path))
