# SPDX-License-Identifier: Apache-2.0
"""Random bytes for noise and secret coins: AES-256-CTR keyed by the operating system."""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16
_ZEROS = memoryview(bytes(1 << 17))

_living: weakref.WeakSet[NoiseSource] = weakref.WeakSet()


class NoiseSource:
    """A stream of secret random bytes, each given out once.

    Guarantee: no byte of the stream is given out twice, in this process or in a forked child (which
    gets a new key); key and stream are in no log, repr, pickle or copy. What is drawn is as good as
    uniform against anyone who cannot tell AES-256 from a random permutation (proofs/noise.md).
    """

    description = "AES-256-CTR keyed by the operating system"
    tainted = ""

    def __init__(self) -> None:
        self._start(os.urandom(32))
        _living.add(self)

    def random_bytes(self, n: int) -> bytes:
        """The next n bytes."""
        with self._lock:
            return self._stream.update(bytes(n))

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 bits."""
        words = np.empty(n, np.uint64)
        self.fill(words)
        return words

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite `words` (contiguous) with the next words of the stream."""
        buffer = words.view(np.uint8).data
        with self._lock:
            for start in range(0, len(buffer), len(_ZEROS)):
                self._fill(buffer[start : start + len(_ZEROS)])

    def _fill(self, buffer: memoryview[int]) -> None:
        # update_into may ask for a block more room than it fills; the last block comes by update.
        bulk = max(len(buffer) - _BLOCK, 0)
        if bulk:
            self._stream.update_into(_ZEROS[:bulk], buffer)
        buffer[bulk:] = self._stream.update(bytes(len(buffer) - bulk))

    def _start(self, key: bytes) -> None:
        """Begin a new stream; the key is held by the cipher alone."""
        self._lock = threading.Lock()
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(_BLOCK))).encryptor()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a noise source cannot be pickled or copied: two holders of one stream would draw the "
            "same noise; make a new NoiseSource() where it is needed"
        )


def keyed_words(key: bytes, first: int, n: int) -> NDArray[np.uint64]:
    """Words first..first + n of the stream of a key: the same ones however they are asked for.

    Guarantee: to who does not hold the key they are as good as uniform and independent
    (proofs/noise.md). A key must not have been used for a `NoiseSource`.
    """
    # Two words to a block of the cipher.
    stream = Cipher(algorithms.AES(key), modes.CTR((first // 2).to_bytes(_BLOCK, "big")))
    words = stream.encryptor().update(bytes(8 * (n + first % 2)))
    return np.frombuffer(words, "<u8")[first % 2 :]


class SeededSource(NoiseSource):
    """A reproducible stream, for tests only: whoever knows the seed can subtract the noise."""

    description = "AES-256-CTR keyed by a seed"
    tainted = "seeded noise"

    def __init__(self, seed: int) -> None:
        self._start(hashlib.sha256(f"seeded noise {seed}".encode()).digest())
        _living.add(self)


def _rekey_in_child() -> None:
    """Give every source of a forked child a new key, and a lock that no lost thread holds."""
    for source in list(_living):
        source._start(os.urandom(32))  # noqa: SLF001 - the module's own class


if hasattr(os, "register_at_fork"):  # pragma: no branch - some systems have no fork
    os.register_at_fork(after_in_child=_rekey_in_child)
