# SPDX-License-Identifier: Apache-2.0
"""Rounded Gaussian noise on integer sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import rounded_gaussian as _kernel
from tacit.kernels.reference.noise import ziggurat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.mechanisms.entropy import NoiseSource

RELATIVE_ERROR = 2.0**-48
SMALLEST_STD = 1.0
LARGEST_STD = 2.0**45

_CHUNK = 1 << 15


def numerical_epsilon(coordinates: int) -> float:
    """What the sampler's own error can add to epsilon, for a user who touches `coordinates` sums.

    Guarantee: the law drawn from gives every integer the probability of round(N(0, std^2)) within a
    factor 1 +- RELATIVE_ERROR, out to 37 std (proofs/noise.md).
    """
    return 2.0 * RELATIVE_ERROR * coordinates


def rounded_gaussian(
    std: float, size: int | tuple[int, ...], source: NoiseSource
) -> NDArray[np.int64]:
    """Independent draws of round(N(0, std^2)); std in grid steps, rounded up to 28 bits.

    Guarantee: added to integer sums of L2 sensitivity s it is exactly s/std-GDP, up to
    `numerical_epsilon` (proofs/noise.md).
    """
    if not SMALLEST_STD <= std <= LARGEST_STD:
        raise ValueError(
            f"std must be between {SMALLEST_STD:g} and 2^{math.log2(LARGEST_STD):g} grid steps, "
            f"got {std}; choose a finer grid where it is too small, a coarser one where too large"
        )
    noise = np.empty(size, np.int64)
    flat = noise.reshape(-1)
    table = ziggurat()
    short = _rounded_up(std)
    words = np.empty(min(len(flat), _CHUNK) + _further(std, min(len(flat), _CHUNK)), np.uint64)
    for start in range(0, len(flat), _CHUNK):
        part = flat[start : start + _CHUNK]
        fresh = words[: len(part) + _further(std, len(part))]
        source.fill(fresh)
        # The same draw goes on over a longer stretch of the stream; a new draw would not be fair.
        while not _kernel(fresh, table, short, part):
            fresh = np.concatenate([fresh, source.words(len(part))])
    return noise


def _rounded_up(std: float) -> float:
    """Std with 28 significant bits, so that its products with the table's widths are exact."""
    mantissa, exponent = math.frexp(std)
    return math.ldexp(math.ceil(math.ldexp(mantissa, 28)), exponent - 28)


def _further(std: float, n: int) -> int:
    """How many words beyond one each nearly always suffice for n values."""
    undecided = 0.016 + 16.0 * std * 2.0**-51
    return 64 + math.ceil(n * undecided)


def add_noise(
    sums: NDArray[np.int64], std: float, source: NoiseSource, *, symmetric: bool
) -> NDArray[np.int64]:
    """The sums with fresh noise of `std` grid steps; std = 0 gives a plain copy.

    With `symmetric`, the last axis is the packed upper triangle (row by row) of a symmetric matrix:
    its diagonal gets std, the entries off it std / sqrt(2), which is noise of std in the Frobenius
    norm's own coordinates.

    Guarantee: sums of L2 sensitivity s (Frobenius where symmetric) are released with exactly
    s/std-GDP, up to `numerical_epsilon` (proofs/noise.md). The caller keeps |sums| below 2^62.
    """
    if sums.dtype != np.int64:
        raise TypeError(f"sums must be int64, so that they are exact, got {sums.dtype}")
    if std == 0.0:
        return sums.copy()
    if symmetric:
        diagonal = _packed_diagonal(sums.shape[-1])
        off_diagonal = math.nextafter(std * math.sqrt(0.5), math.inf)  # never below the true one
        noisy = rounded_gaussian(off_diagonal, sums.shape, source)
        noisy[..., diagonal] = rounded_gaussian(std, (*sums.shape[:-1], len(diagonal)), source)
    else:
        noisy = rounded_gaussian(std, sums.shape, source)
    noisy += sums
    return noisy


def _packed_diagonal(packed: int) -> NDArray[np.int64]:
    """Where the diagonal of a symmetric matrix stands in its upper triangle, packed row by row."""
    rank = (math.isqrt(8 * packed + 1) - 1) // 2
    if rank * (rank + 1) // 2 != packed:
        raise ValueError(
            f"symmetric sums must have r (r + 1) / 2 numbers on their last axis, got {packed}"
        )
    row = np.arange(rank, dtype=np.int64)
    return row * rank - row * (row - 1) // 2
