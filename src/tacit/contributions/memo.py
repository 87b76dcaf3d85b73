# SPDX-License-Identifier: Apache-2.0
"""Users who replay what was released so far, and what saves them from starting over each time.

In some algorithms a user's part is the result of many steps of her own: her factors after t steps
of descent, her predictions after t directions. She is stateless all the same, because each of the
steps is a function of her row and of what was released; she can go through all of them again. The
memo keeps her result of the last step beside her row, under a key that is made of everything public
it depends on, so that it can only save time: with it and without it the bits are the same.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.block import UserBlock
    from tacit.data.memory import Along


class Replay(Protocol):
    """One step of a replay, linked to the one before it.

    Rows of a state belong to one user (or to one rating) each, and depend on her row, on the fields
    of this and of earlier steps, and on nothing else.
    """

    @property
    def key(self) -> bytes:
        """Names all public inputs of this step and of those before it (see `key_of`)."""
        ...

    @property
    def before(self) -> Replay | None:
        """The step before; none for the first."""
        ...

    @property
    def along(self) -> Along:
        """Whether a state has a row for each user or for each rating."""
        ...

    def start(self, block: UserBlock) -> NDArray[Any]:
        """The state before the first step."""
        ...

    def advance(self, block: UserBlock, state: NDArray[Any]) -> NDArray[Any]:
        """The state after this step, from that before it."""
        ...


def replayed(last: Replay, block: UserBlock) -> NDArray[Any]:
    """The state of the block's users after the last step."""
    todo: list[Replay] = []
    step: Replay | None = last
    found = None
    while step is not None and found is None:
        found = None if block.memo is None else block.memo.recall(step.key, step.along)
        if found is None:
            todo.append(step)
            step = step.before
    state = last.start(block) if found is None else found
    for each in reversed(todo):
        state = each.advance(block, state)
    if block.memo is not None and todo:
        block.memo.keep(last.key, last.along, state)
    return state


def key_of(before: Replay | None, *public: NDArray[Any] | float | str | None) -> bytes:
    """A name that no other public inputs share; begin with the kind of the replay."""
    digest = hashlib.blake2b(b"" if before is None else before.key, digest_size=32)
    for each in public:
        if isinstance(each, np.ndarray):
            digest.update(f"{each.dtype}{each.shape};".encode())
            digest.update(each.tobytes())
        else:
            digest.update(f"{each!r};".encode())
    return digest.digest()
