# SPDX-License-Identifier: Apache-2.0
"""Rounded Gaussian noise on the integers from random words: the tables, and the sampler's twin.

A ziggurat whose every cell of the integer grid has its exact probability (proofs/noise.md): the
word's 52 bits decide a value only where no further digit could change it; else more are drawn.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LAYERS = 1024
# The base layer's width: the largest multiple of 2^-22 with which the layers reach the curve's top.
WIDTH = 18743711 / 2**22
INNER = 29 / 32  # of it is under the curve; the rest stands for the tail
CURVE_AT_INNER = float.fromhex("0x1.1fc22acc04226p-12")  # exp(-(INNER * WIDTH)^2 / 2), rounded up

SIGN_BIT = 1 << 11
_TO_INTEGER = 1.5 * 2.0**52
_SPLIT = 2.0**27 + 1
_TAYLOR = (479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2)


@functools.cache
def ziggurat() -> NDArray[np.float64]:
    """The tables, as rows: widths, inner, floors, heights.

    Layer i is the rectangle [0, widths[i]) x [floors[i], floors[i] + heights[i]), of one area each;
    its part below inner[i] * widths[i] is wholly under exp(-x^2 / 2), and together they cover it.
    Built on integers, so that the floors add up exactly until their last rounding.
    """
    one = 1 << 128
    base = int(CURVE_AT_INNER * one)
    area_22 = base * int(WIDTH * 2**22)
    floors, heights = [0, base], [base]
    widths, inner = [WIDTH], [INNER]
    for layer in range(1, LAYERS):
        widths.append((math.floor(_reach(floors[layer] / one) * 2**22 + 2**-10) + 1) / 2**22)
        heights.append(area_22 // int(widths[layer] * 2**22))
        floors.append(floors[layer] + heights[layer])
        ceiling = floors[layer + 1] / one
        inside = _reach(ceiling) / widths[layer] if layer < LAYERS - 1 else 0.0
        inner.append(max(math.floor(inside * 2**22 - 2**-10), 0) / 2**22)
    table = np.array(
        [
            widths,
            inner,
            [floor / one for floor in floors[:LAYERS]],
            [height / one for height in heights],
        ]
    )
    table.flags.writeable = False
    return table


def _reach(height: float) -> float:
    """Where exp(-x^2 / 2) has come down to `height`."""
    return math.sqrt(-2.0 * math.log(height))


def rounded_gaussian(
    words: NDArray[np.uint64], table: NDArray[np.float64], std: float, out: NDArray[np.int64]
) -> int:
    """Fill `out` with round(N(0, std^2)); std times the table's widths must be exact.

    Uses one word each, and further words, in order, for the few values that need them. Returns how
    many words were used, or 0 where they did not suffice: call again with more of the same stream.
    """
    first, rest = words[: len(out)], words[len(out) :]
    if len(first) < len(out):
        return 0
    widths, inner = table[:2]
    layer = (first & np.uint64(table.shape[1] - 1)).astype(np.int64)
    u = (first >> np.uint64(12)).astype(np.float64) * 2.0**-52
    t = u * (widths * std)[layer]
    nearest = np.rint(t)
    out[:] = nearest
    np.negative(out, out=out, where=(first & np.uint64(SIGN_BIT)) != 0)
    edge = 0.5 - 2.0**-51 * (widths[0] * std)
    done = (u < inner[layer]) & (np.abs(t - nearest) < edge)
    stream = _Words(rest)
    try:
        for at in np.flatnonzero(~done):
            out[at] = _careful(int(first[at]), stream, table, std)
    except StopIteration:
        return 0
    return len(out) + stream.taken


class _Words:
    """A cursor over words; StopIteration where they end."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.taken = 0
        self._words: Iterator[np.uint64] = iter(words)

    def take(self) -> int:
        word = int(next(self._words))
        self.taken += 1
        return word


def _uniform(word: int) -> float:
    """The word's upper 52 bits as a number in [0, 1)."""
    return (word >> 12) * 2.0**-52


def _careful(word: int, words: _Words, table: NDArray[np.float64], std: float) -> int:
    """One value with every digit it needs, from a word that the fast path could not finish."""
    while True:
        i = word & (table.shape[1] - 1)
        width, inner, floor, height = (float(entry) for entry in table[:, i])
        u, u_low = _uniform(word), _uniform(words.take()) * 2.0**-52
        accept = u < inner
        if not accept:
            if i == 0:
                u, u_low, cell = _tail_position(words)
                y = math.ldexp(_deep_uniform(words), -cell) * height
            else:
                y = floor + _uniform(words.take()) * height
            accept = y < density(*_product(width, u, u_low))
        if accept:
            q = _nearest(*_product(width * std, u, u_low))
            return -q if word & SIGN_BIT else q
        word = words.take()


def _leading_zeros(words: _Words) -> int:
    """How many zero bits come before the next one bit; the rest of its word is dropped."""
    zeros = 0
    while (word := words.take()) == 0:
        zeros += 64
    return zeros + 64 - word.bit_length()


def _deep_uniform(words: _Words) -> float:
    """A uniform in (0, 1) whose relative spacing is 2^-52 however small it is."""
    zeros = _leading_zeros(words)
    return math.ldexp(1.0 + _uniform(words.take()), -1 - zeros)


def _tail_position(words: _Words) -> tuple[float, float, int]:
    """A position over widths[0] beyond inner[0], in equal cells each half as likely as the last."""
    cell = _leading_zeros(words)
    coarse = float(words.take() >> 24)
    fine = _uniform(words.take())
    return (
        (58.0 * 2.0**40 + 3.0 * (cell * 2.0**40 + coarse)) * 2.0**-46,
        3.0 * fine * 2.0**-46,
        cell,
    )


def _product(a: float, b: float, b_low: float) -> tuple[float, float]:
    """The product a * (b + b_low) as an unevaluated sum; a * b is exact (Dekker)."""
    high = a * b
    a_top = a * _SPLIT - (a * _SPLIT - a)
    b_top = b * _SPLIT - (b * _SPLIT - b)
    a_rest, b_rest = a - a_top, b - b_top
    error = ((a_top * b_top - high) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest
    low = error + a * b_low
    total = high + low
    return total, low - (total - high)


def _nearest(high: float, low: float) -> int:
    """The integer nearest to high + low, decided on both."""
    r = (high + _TO_INTEGER) - _TO_INTEGER
    d = high - r
    if low > 0.5 - d:
        return int(r) + 1
    if low < -0.5 - d:
        return int(r) - 1
    return int(r)


def density(x: float, x_low: float) -> float:
    """exp(-(x + x_low)^2 / 2), to three units in the last place while it is a normal number."""
    square, rest = _product(x, x, 0.0)
    rest += 2.0 * x * x_low
    k = (square * -float.fromhex("0x1.71547652b82fep-1") + _TO_INTEGER) - _TO_INTEGER
    r = square * -0.5 - k * float.fromhex("0x1.62e42feep-1")
    r = (r - k * float.fromhex("0x1.a39ef35793c76p-33")) - rest * 0.5
    total = 1.0 / 6227020800.0
    for factorial in _TAYLOR:
        total = total * r + 1.0 / factorial
    return math.ldexp((total * r + 1.0) * r + 1.0, int(k))
