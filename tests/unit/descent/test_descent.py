# SPDX-License-Identifier: Apache-2.0
"""Descent: where it goes, in which order, from where it reads and where it can go on."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest

from tacit.data.block import UserBlock
from tacit.descent import Descent, Snapshots, State, chunks, in_memory, stored
from tacit.descent.chunks import GROUPS, Numbering, Survey, arranged
from tacit.descent.snapshots import NAME

ORDERS = ("deterministic", "lock-free")


def low_rank(rng, users=300, items=60, rank=3, share=0.5):
    """Exact products of factors, half of them observed, with offsets."""
    X, Y = rng.normal(0, 0.7, (users, rank)), rng.normal(0, 0.7, (items, rank))
    truth = X @ Y.T + rng.normal(0, 0.5, items) + rng.normal(0, 0.5, (users, 1)) + 0.3
    seen = rng.random((users, items)) < share
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))]).astype(np.int64)
    values = truth[seen].astype(np.float32)
    return UserBlock(indptr, np.nonzero(seen)[1].astype(np.int32), values, items)


def prepared(block, order="deterministic", parts=1):
    """The same users in several blocks."""
    edges = np.linspace(0, block.n_users, parts + 1).astype(int)
    blocks = [block.rows(a, b) for a, b in pairwise(edges)]
    return in_memory(blocks, Survey.of(blocks, block.n_items), order)


def trained(data, descent, *, threads=1, rank=4, **more):
    users = more.pop("users", 300)
    state = State.first(users, data.numbering.rows, rank, seed=1)
    descent.run(data, state, threads=threads, **more)
    return state


def error(state, data):
    """Root mean square error over all ratings."""
    squares = []
    for chunk in data.stream(0, len(data)):
        user = np.repeat(chunk.visit_user, np.diff(chunk.visit_ratings))
        products = np.einsum("pk,pk->p", state.U[user], state.V[chunk.items])
        offsets = state.user_offsets[user] + state.item_offsets[chunk.items]
        squares.append((chunk.values - data.mean - offsets - products) ** 2)
    return float(np.sqrt(np.concatenate(squares).mean()))


def equal(one, other):
    return all(np.array_equal(a, other.arrays()[name]) for name, a in one.arrays().items())


@pytest.fixture
def small_chunks(monkeypatch):
    """Several chunks of few users."""
    monkeypatch.setattr(chunks, "USERS_PER_CHUNK", 70)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_exact_low_rank_truth_is_found(rng, order, threads):
    data = prepared(low_rank(rng), order)
    state = trained(data, Descent(150, rate=0.05, decay=0.0, ridge=0.0), threads=threads)
    assert error(state, data) < 1e-3


def test_the_ridge_keeps_factors_small_and_steps_decay(rng):
    data = prepared(low_rank(rng))
    free, held = (trained(data, Descent(30, 0.05, 0.0, ridge)) for ridge in (0.0, 0.3))
    assert np.linalg.norm(held.V) < 0.8 * np.linalg.norm(free.V)
    slow = trained(data, Descent(30, 0.05, 3.0, 0.0))
    assert error(slow, data) > error(free, data)


def test_any_number_of_threads_gives_the_same_bits(rng, small_chunks):
    data = prepared(low_rank(rng))
    descent = Descent(4, 0.05, 0.5, 0.02)
    assert len(data) == 5
    assert equal(trained(data, descent, threads=1), trained(data, descent, threads=2))


def test_it_does_not_matter_in_which_blocks_users_come(rng, small_chunks):
    block = low_rank(rng)
    descent = Descent(3, 0.05, 0.5, 0.02)
    assert equal(
        trained(prepared(block), descent), trained(prepared(block, parts=11), descent, threads=2)
    )


@pytest.mark.parametrize("order", ORDERS)
def test_from_files_it_is_the_same(rng, tmp_path, small_chunks, order):
    block = low_rank(rng)
    kept = prepared(block, order)
    read = stored(tmp_path, [block], Survey.of([block], block.n_items), order)
    descent = Descent(3, 0.05, 0.5, 0.02)
    assert len(read) == len(kept) == 5
    assert equal(trained(kept, descent), trained(read, descent, users=block.n_users))
    assert not [t for t in threading.enumerate() if t.name == "tacit-reader"]


def test_a_file_that_breaks_is_noticed_where_it_is_used(rng, tmp_path):
    block = low_rank(rng)
    read = stored(tmp_path, [block], Survey.of([block], block.n_items), "deterministic")
    (tmp_path / "ratings.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(Exception, match=r"(?i)parquet"):
        next(read.stream(0, 1))


def test_whoever_stops_asking_stops_the_reader(rng, tmp_path, small_chunks):
    block = low_rank(rng)
    read = stored(tmp_path, [block], Survey.of([block], block.n_items), "deterministic")
    stream = read.stream(0, 1000)
    next(stream)
    stream.close()
    assert not [t for t in threading.enumerate() if t.name == "tacit-reader"]


def test_it_goes_on_from_a_snapshot_to_the_same_bits(rng, tmp_path, small_chunks):
    data = prepared(low_rank(rng))
    whole = trained(data, Descent(6, 0.05, 0.5, 0.02))
    trained(data, Descent(2, 0.05, 0.5, 0.02), snapshots=Snapshots(tmp_path, 3, {"a": 1}))
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    on = trained(data, Descent(6, 0.05, 0.5, 0.02), snapshots=Snapshots(tmp_path, 3, {"a": 1}))
    assert equal(whole, on)


def test_a_training_that_breaks_off_leaves_its_last_snapshot(rng, tmp_path, small_chunks):
    data = prepared(low_rank(rng))

    class Breaks:
        numbering, mean = data.numbering, data.mean

        def __len__(self):
            return len(data)

        def stream(self, start, stop):
            yield from data.stream(start, start + 7)
            raise KeyboardInterrupt

    state = State.first(300, data.numbering.rows, 4, seed=1)
    descent = Descent(6, 0.05, 0.5, 0.02)
    with pytest.raises(KeyboardInterrupt):
        descent.run(Breaks(), state, threads=1, snapshots=Snapshots(tmp_path, 5, {}))
    for thread in threading.enumerate():
        if thread.name == "tacit-writer":
            thread.join()
    snapshots = Snapshots(tmp_path, 5, {})
    assert snapshots.restore(State.first(300, data.numbering.rows, 4, seed=9)) == 5
    assert equal(trained(data, descent, snapshots=snapshots), trained(data, descent))


def test_a_snapshot_of_something_else_is_refused(rng, tmp_path):
    data = prepared(low_rank(rng))
    trained(data, Descent(1, 0.05, 0.5, 0.02), snapshots=Snapshots(tmp_path, 1, {"rank": 4}))
    with pytest.raises(ValueError, match="of other ratings or settings"):
        trained(data, Descent(2, 0.05, 0.5, 0.02), snapshots=Snapshots(tmp_path, 1, {"rank": 5}))


def test_a_snapshot_that_cannot_be_written_is_an_error(rng, tmp_path):
    data = prepared(low_rank(rng))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        trained(data, Descent(2, 0.05, 0.5, 0.02), snapshots=Snapshots(tmp_path / "file", 1, {}))


@pytest.mark.parametrize("order", ORDERS)
def test_every_rating_is_taken_once_and_no_two_tasks_of_a_round_meet(rng, small_chunks, order):
    block = low_rank(rng)
    data = prepared(block, order)
    user = block.user_of_rating()
    wanted = set(zip(user, data.numbering.row_of[block.items], block.values, strict=True))
    seen = set()
    for chunk in data.stream(0, len(data)):
        visitor = np.repeat(chunk.visit_user, np.diff(chunk.visit_ratings))
        seen |= set(zip(visitor, chunk.items, chunk.values, strict=True))
        edges = chunk.visit_ratings[chunk.task_visits]
        tasks = [(set(visitor[a:b]), set(chunk.items[a:b])) for a, b in pairwise(edges)]
        assert len(tasks) == (GROUPS**2 if order == "deterministic" else GROUPS)
        for first in range(0, len(tasks), GROUPS):
            of_round = tasks[first : first + GROUPS]
            assert sum(len(u) for u, _ in of_round) == len(set().union(*(u for u, _ in of_round)))
            if order == "deterministic":
                items = [i for _, i in of_round]
                assert sum(map(len, items)) == len(set().union(*items))
    assert seen == wanted


def test_every_group_of_items_has_its_share_of_popular_ones():
    counts = np.arange(803)[::-1] ** 2
    numbering = Numbering.of(counts, "deterministic")
    group = numbering.row_of // numbering.rows_per_group
    shares = np.bincount(group, counts) / counts.sum()
    np.testing.assert_allclose(shares, 1 / GROUPS, rtol=0.02)
    assert len(np.unique(numbering.row_of)) == 803
    assert numbering.row_of.max() < numbering.rows
    within = numbering.row_of[group == 3]
    assert np.all(np.diff(within) > 0), "in a group the popular come first"


def test_users_without_ratings_keep_their_first_factors():
    block = UserBlock(np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 7)
    data = prepared(block)
    state = trained(data, Descent(2, 0.1, 0.5, 0.1), users=4)
    assert equal(state, State.first(4, data.numbering.rows, 4, seed=1))
    assert list(arranged([], data.numbering)) == []
