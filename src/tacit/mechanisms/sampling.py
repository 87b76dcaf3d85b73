# SPDX-License-Identifier: Apache-2.0
"""A secret Poisson sample of the users: for each release, each user enters by a coin of her own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tacit.contributions.base import Contribution
from tacit.mechanisms.entropy import keyed_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.contributions.base import Part, Sums
    from tacit.data.block import UserBlock

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, eq=False)
class Sampled(Contribution):
    """A contribution summed over the users whose coin fell right.

    A user's coin is a keyed hash of her position among all users, so that threads, blocks and
    machines agree on it without being told; the key is drawn for one release and then forgotten.
    Nobody but the engine sees who entered. What a user adds is unchanged, and so are the bounds.

    Guarantee:
        Each user enters with probability `rate` rounded down to 2^-64, independently of all others
        and of every other key, up to the cipher's distinguishability. proofs/curator.md
    """

    whole: Contribution
    rate: float
    key: bytes = field(repr=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.whole.parts

    def add(self, block: UserBlock, sums: Sums) -> None:
        if block.first is None:
            raise ValueError("an engine that draws samples must number its users (UserBlock.first)")
        chosen = self.chosen(block.first, block.n_users)
        self.whole.add(block.keep(np.repeat(chosen, np.diff(block.indptr))), sums)

    def chosen(self, first: int, n_users: int) -> NDArray[np.bool_]:
        """The coins of the users from this position on."""
        return keyed_words(self.key, first, n_users) < np.uint64(int(self.rate * 2.0**64))
