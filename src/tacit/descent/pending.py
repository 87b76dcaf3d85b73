# SPDX-License-Identifier: Apache-2.0
"""Langevin noise, added to a row only when the row is next used (paper 004, section 5.4).

All rows are due noise all the time. Sums of normals are normal, so what has become due to a row
since its last use is one draw. Normals are those of the noise mechanism: fresh, from AES-256-CTR,
on a grid of 2^-20 standard deviations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit import kernels
from tacit.mechanisms.gaussian import rounded_gaussian

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from tacit.mechanisms.entropy import NoiseSource

_GRID = 2.0**20
_NUMBERS_AT_A_TIME = 1 << 15  # stay in the cache between cipher, sampler and rows


def add_pending(
    factors: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]],
    rank: int,
    used: NDArray[np.int32],
    now: float,
    draw: tuple[NoiseSource, Executor],
) -> None:
    """To the rows `used` of (factors, offsets, clock) add noise of variance now - clock.

    Clocks count variance. Pieces of rows are drawn in parallel; no two have a row in common.
    """
    rows, offsets, clock = factors
    source, pool = draw
    scales = (np.sqrt(now - clock[used]) / _GRID).astype(np.float32)
    clock[used] = now
    columns = offsets[:, None]
    step = max(_NUMBERS_AT_A_TIME // (rank + 1), 1)

    def piece(start: int) -> None:
        part, scale = used[start : start + step], scales[start : start + step]
        if rank:
            kernels.add_rows(part, scale, rounded_gaussian(_GRID, (len(part), rank), source), rows)
        kernels.add_rows(part, scale, rounded_gaussian(_GRID, (len(part), 1), source), columns)

    for _ in pool.map(piece, range(0, len(used), step)):
        pass
