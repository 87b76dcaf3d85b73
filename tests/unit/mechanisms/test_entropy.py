# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from tacit.mechanisms import entropy
from tacit.mechanisms.entropy import NoiseSource, SeededSource


def test_every_source_is_keyed_by_the_operating_system(monkeypatch):
    asked = []
    urandom = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or urandom(n))
    first, second = NoiseSource(), NoiseSource()
    assert asked == [32, 32]
    assert first.random_bytes(32) != second.random_bytes(32)


def test_no_seed_reaches_the_real_source():
    with pytest.raises(TypeError):
        NoiseSource(1)
    assert NoiseSource().tainted == ""
    assert SeededSource(1).tainted == "seeded noise"
    assert "operating system" in NoiseSource.description
    assert "operating system" not in SeededSource.description


def test_the_stream_goes_on_and_is_never_reused():
    """Draws of every kind and size, one after another, are one stream read once."""
    pieces, drawn = SeededSource(5), b""
    for n in (0, 1, 7, 16, 17, 1000, 131072, 300_001):
        drawn += pieces.random_bytes(n)
        drawn += pieces.words(n // 8).tobytes()
    assert drawn == SeededSource(5).random_bytes(len(drawn))
    blocks = np.frombuffer(drawn[: len(drawn) // 16 * 16], "V16")
    assert len(np.unique(blocks)) == len(blocks)


def test_equal_seeds_give_equal_streams_and_others_do_not():
    assert SeededSource(5).random_bytes(64) == SeededSource(5).random_bytes(64)
    assert SeededSource(5).random_bytes(64) != SeededSource(6).random_bytes(64)


def test_bits_are_fair():
    words = NoiseSource().words(1 << 16)
    for bit in range(64):
        ones = np.count_nonzero(words >> np.uint64(bit) & np.uint64(1))
        assert abs(ones - (1 << 15)) < 7 * (1 << 7)


@pytest.mark.parametrize("spread", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_cannot_be_copied(spread):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        spread(NoiseSource())


def test_nothing_secret_is_shown_or_kept(monkeypatch, caplog):
    key = bytes(range(32))
    monkeypatch.setattr(os, "urandom", lambda n: key)
    with caplog.at_level(0):
        source = NoiseSource()
        drawn = source.random_bytes(16)
    assert repr(source) == "NoiseSource(AES-256-CTR keyed by the operating system)"
    assert not any(isinstance(kept, bytes) for kept in vars(source).values())
    assert drawn.hex() not in repr(vars(source))
    assert caplog.records == []


def test_threads_share_a_source_without_sharing_bytes():
    source, drawn = SeededSource(9), []

    def draw():
        for _ in range(200):
            drawn.append(source.words(64))  # noqa: PERF401 - one atomic append per draw

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = SeededSource(9).words(64 * 800)
    np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), np.sort(alone))


def test_what_a_forked_child_does_first_is_to_take_new_keys_and_locks():
    sources = [SeededSource(3), NoiseSource()]
    locks = [source._lock for source in sources]
    entropy._rekey_in_child()
    assert sources[0].random_bytes(64) != SeededSource(3).random_bytes(64)
    assert all(source._lock is not lock for source, lock in zip(sources, locks, strict=True))


FORK = """
import os, signal, threading
from tacit.mechanisms.entropy import {kind}
source = {kind}({seed})
source.random_bytes(100)
held, done = threading.Event(), threading.Event()
def hold():
    with source._lock:
        held.set()
        done.wait()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
children = []
for _ in range(2):
    reading, writing = os.pipe()
    if os.fork() == 0:
        signal.alarm(20)
        os.write(writing, source.random_bytes(1 << 12))
        os._exit(0)
    os.wait()
    os.close(writing)
    children.append(os.read(reading, 1 << 12))
done.set()
holder.join()
streams = [source.random_bytes(1 << 16), *children]
words = {{stream[i : i + 16] for stream in streams for i in range(len(stream) - 15)}}
assert len(words) == sum(len(stream) - 15 for stream in streams)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize(("kind", "seed"), [("NoiseSource", ""), ("SeededSource", "3")])
def test_a_forked_child_draws_another_stream(kind, seed):
    """Also where a thread that does not live on in the child held the source."""
    script = FORK.format(kind=kind, seed=seed)
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=300)
