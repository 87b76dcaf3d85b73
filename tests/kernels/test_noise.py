# SPDX-License-Identifier: Apache-2.0
"""The noise sampler: its tables, its exact law read off from the kernel, and its twin."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels import rounded_gaussian
from tacit.kernels.reference import noise as reference
from tacit.mechanisms.gaussian import RELATIVE_ERROR

mpmath.mp.prec = 200

TABLE = reference.ziggurat()
WIDTHS, INNER, FLOORS, HEIGHTS = TABLE
UNIT = 2.0**-53
FINEST = Fraction(1, 2**104)  # spacing of the positions, in widths of a layer

STDS = st.integers(2**27, 2**28 - 1).flatmap(
    lambda mantissa: st.integers(-27, 17).map(lambda e: math.ldexp(mantissa, e))
)


def draw(sampler, words, std, n=1):
    out = np.zeros(n, np.int64)
    used = sampler(np.array(words, np.uint64), TABLE, std, out)
    return used, out


def stream(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)


def word(layer: int, position: int, *, negative: bool = False) -> int:
    """A word that says this layer, this sign, and position / 2^52 of the layer's width."""
    return position << 12 | negative << 11 | layer


def f(x: Fraction | float) -> mpmath.mpf:
    exact = Fraction(x)
    return mpmath.exp(-((mpmath.mpf(exact.numerator) / exact.denominator) ** 2) / 2)


# --- the tables -----------------------------------------------------------------------------------


def test_layers_are_of_one_area_and_reach_the_top_of_the_curve():
    area = Fraction(WIDTHS[0]) * Fraction(HEIGHTS[0])
    floor = Fraction(0)
    for i, width in enumerate(WIDTHS):
        height = area / Fraction(width)
        assert abs(Fraction(FLOORS[i]) - floor) <= floor * Fraction(UNIT)
        assert abs(Fraction(HEIGHTS[i]) - height) <= height * Fraction(UNIT)
        floor += height
    assert 1 <= floor < 1 + Fraction(1, 10**5)


def test_layers_cover_the_curve_and_their_inner_parts_are_under_it():
    area = Fraction(WIDTHS[0]) * Fraction(HEIGHTS[0])
    floor = Fraction(HEIGHTS[0])
    for i in range(1, len(WIDTHS)):
        ceiling = floor + area / Fraction(WIDTHS[i])
        bottom, top = (mpmath.mpf(y.numerator) / y.denominator for y in (floor, ceiling))
        assert f(WIDTHS[i]) < bottom
        if INNER[i] > 0:
            assert f(Fraction(WIDTHS[i]) * Fraction(INNER[i])) > top
        floor = ceiling
    assert INNER[-1] == 0.0


def test_tail_cells_cover_the_tail():
    inner_width = Fraction(INNER[0]) * Fraction(WIDTHS[0])
    cell = Fraction(3, 64) * Fraction(WIDTHS[0])
    assert 2 * cell == Fraction(WIDTHS[0]) - inner_width
    assert 1 - 2 * UNIT < f(inner_width) / HEIGHTS[0] <= 1
    assert float(inner_width * cell) > math.log(2)  # the curve halves at least, from cell to cell


def test_products_with_the_widths_are_exact():
    for std in (1.0, 2.0 - 2.0**-27, 2.0**45, 123456789 * 2.0**3):
        assert all(
            Fraction(w) * Fraction(std) == Fraction(p)
            for w, p in zip(WIDTHS, WIDTHS * std, strict=True)
        )


# --- the law, read off from the kernel by asking it about chosen words ---------------------------


def accepted_share(before: list[int], bits: int) -> Fraction:
    """The share of the last word (its upper `bits` bits) with which the kernel accepts."""
    low, high = 0, 2**bits
    while low < high:
        middle = (low + high) // 2
        used, _ = draw(rounded_gaussian, [*before, middle << (64 - bits)], 1.0)
        if used:
            low = middle + 1
        else:
            high = middle
    return Fraction(low, 2**bits)


def body_density(x: Fraction) -> Fraction:
    """What the layers together give at x: the sum of height times the share accepted."""
    area = Fraction(WIDTHS[0]) * Fraction(HEIGHTS[0])
    total = Fraction(0)
    for i, width in enumerate(WIDTHS):
        place = x / Fraction(width)
        if place >= 1:
            continue
        if place < Fraction(INNER[i]):
            total += area / Fraction(width)
            continue
        if i:
            finest = int(place / FINEST)
            words = [word(i, finest >> 52), (finest & (2**52 - 1)) << 12]
            total += area / Fraction(width) * accepted_share(words, 52)
    return total


@pytest.mark.parametrize("part", range(4))
def test_density_of_the_body_is_gaussian(part):
    """Places in the wedges, hard by their edges, and anywhere."""
    rng = np.random.default_rng(part)
    inner_width = Fraction(INNER[0]) * Fraction(WIDTHS[0])
    layers = rng.choice(np.arange(1, len(WIDTHS)), 40)
    places = [
        Fraction(WIDTHS[i]) * Fraction(float(u))
        for i, u in zip(layers, rng.random(40), strict=True)
    ]
    for i in layers:
        places += [
            Fraction(WIDTHS[i]) * (1 - Fraction(1, 2**50)),
            Fraction(WIDTHS[i]) * Fraction(INNER[i]),
        ]
        share = Fraction(INNER[i]) + (1 - Fraction(INNER[i])) * Fraction(float(rng.random()))
        places.append(Fraction(WIDTHS[i]) * share)
    worst = max(abs(_ratio(body_density(x), x) - 1) for x in places if x < inner_width)
    assert worst < 10.4 * UNIT


def _ratio(density: Fraction, x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(density.numerator) / density.denominator / f(x)


def tail_words(cell: int, coarse: int, fine: int) -> list[int]:
    """Words that lead to this place of this cell of the tail, up to the one that decides."""
    zeros, rest = divmod(cell, 64)
    return [
        word(0, int(float(INNER[0]) * 2**52)),
        0,
        *[0] * zeros,
        1 << (63 - rest),
        coarse << 24,
        fine << 12,
    ]


def tail_density(cell: int, coarse: int, fine: int) -> Fraction:
    """What the kernel gives there: envelope times the share of its uniforms that accept."""
    before = tail_words(cell, coarse, fine)
    octave = 0  # the largest octave [2^-1-octave, 2^-octave) of the uniform with an accepted value
    while not draw(rounded_gaussian, [*before, *_zeros(octave), 0], 1.0)[0]:
        octave += 1
    share = accepted_share([*before, *_zeros(octave)], 52)
    return Fraction(HEIGHTS[0]) / 2**cell * (1 + share) / 2 ** (octave + 1)


def _zeros(n: int) -> list[int]:
    words, rest = divmod(n, 64)
    return [*[0] * words, 1 << (63 - rest)]


@pytest.mark.parametrize("cell", [0, 1, 2, 5, 20, 63, 64, 65, 100, 150])
def test_density_of_the_tail_is_gaussian(cell):
    rng = np.random.default_rng(cell)
    for _ in range(5):
        coarse, fine = int(rng.integers(2**40)), int(rng.integers(2**52))
        place = Fraction(3 * (cell * 2**92 + coarse * 2**52 + fine) + 58 * 2**92, 2**98)
        x = place * Fraction(WIDTHS[0])
        assert x < 37
        assert abs(_ratio(tail_density(cell, coarse, fine), x) - 1) < 10.4 * UNIT


def test_stated_error_holds_after_normalising():
    assert (1 + 10.4 * UNIT) / (1 - 10.4 * UNIT) - 1 < RELATIVE_ERROR


def test_rounds_at_exactly_half_a_step():
    """Hard by a cell's end, to 2^-100 of a width, the kernel rounds as exact fractions do."""
    rng = np.random.default_rng(3)
    for _ in range(3000):
        std = math.ldexp(int(rng.integers(2**27, 2**28)), int(rng.integers(-27, 17)))
        i = int(rng.integers(0, len(WIDTHS) - 1))
        step = Fraction(WIDTHS[i]) * Fraction(std)
        furthest = int(step * Fraction(INNER[i]) - 1)
        if furthest < 1:
            continue
        end = Fraction(2 * int(rng.integers(0, furthest)) + 1, 2)
        for nudge in (-16, -1, 0, 1, 16):
            finest = math.ceil(end / step / FINEST) + nudge
            words = [word(i, finest >> 52), (finest & (2**52 - 1)) << 12]
            t = finest * FINEST * step
            if abs(t - end) <= Fraction(1, 2**57):
                continue
            _, out = draw(rounded_gaussian, words, std)
            assert out[0] == math.floor(t + Fraction(1, 2))


def test_places_of_the_tail_are_exact():
    rng = np.random.default_rng(4)
    for _ in range(300):
        std = math.ldexp(int(rng.integers(2**27, 2**28)), 17)
        cell, coarse, fine = (
            int(rng.integers(6)),
            int(rng.integers(2**40)),
            int(rng.integers(2**52)),
        )
        words = [*tail_words(cell, coarse, fine), *_zeros(500), 0]
        place = Fraction(3 * (cell * 2**92 + coarse * 2**52 + fine) + 58 * 2**92, 2**98)
        _, out = draw(rounded_gaussian, words, std)
        assert out[0] == math.floor(place * Fraction(WIDTHS[0]) * Fraction(std) + Fraction(1, 2))


def test_sign_is_a_bit():
    for layer, position in ((7, 2**50), (0, 2**52 - 1)):
        rest = [0, 1 << 63, 0, 0, *_zeros(100), 0]
        _, plus = draw(rounded_gaussian, [word(layer, position), *rest], 2.0**30)
        _, minus = draw(rounded_gaussian, [word(layer, position, negative=True), *rest], 2.0**30)
        assert plus[0] == -minus[0] > 0


def test_density_function_is_accurate():
    rng = np.random.default_rng(5)
    for x in [0.0, 1e-300, *rng.uniform(0, 37, 2000)]:
        x_low = float(x) * 2.0**-54
        exact = f(Fraction(float(x)) + Fraction(x_low))
        assert abs(reference.density(float(x), x_low) / exact - 1) < 4 * UNIT


# --- the twin, and the instruction sets ----------------------------------------------------------


@given(seed=st.integers(0, 2**32), n=st.integers(0, 300), std=STDS)
def test_kernel_equals_its_twin(seed, n, std):
    words = stream(seed, n + 64 + n // 4)
    used, out = draw(rounded_gaussian, words, std, n)
    assert used >= n
    twin_used, twin_out = draw(reference.rounded_gaussian, words, std, n)
    assert used == twin_used
    np.testing.assert_array_equal(out, twin_out)


@given(seed=st.integers(0, 2**32), std=STDS)
@settings(max_examples=20)
def test_careful_values_equal_their_twins(seed, std):
    """Words of the top layer and of the tail only, so that every value takes the long way."""
    words = stream(seed, 2000)
    words[:100] |= np.uint64(0x3FF)
    words[100:200] = words[100:200] & np.uint64(0x800) | np.uint64(int(0.95 * 2**52) << 12)
    used, out = draw(rounded_gaussian, words, std, 200)
    twin_used, twin_out = draw(reference.rounded_gaussian, words, std, 200)
    assert used == twin_used > 0
    np.testing.assert_array_equal(out, twin_out)


@pytest.mark.parametrize("sampler", [rounded_gaussian, reference.rounded_gaussian])
def test_too_few_words_are_said_and_more_of_them_continue_the_draw(sampler):
    words = stream(1, 4000)
    used, out = draw(sampler, words, 2.0**20, 2000)
    assert draw(sampler, words[: used - 1], 2.0**20, 2000)[0] == 0
    assert draw(sampler, words[:1999], 2.0**20, 2000)[0] == 0
    again, same = draw(sampler, words[:used], 2.0**20, 2000)
    assert again == used
    np.testing.assert_array_equal(out, same)


FINGERPRINT = """
import hashlib, sys
import numpy as np
from tacit.kernels import rounded_gaussian
from tacit.kernels.reference.noise import ziggurat
digest = hashlib.sha256()
for exponent in (0, 4, 20, 35, 45):
    words = np.random.default_rng(exponent).integers(0, 2**64, 30_000, np.uint64)
    out = np.empty(20_011, np.int64)
    assert rounded_gaussian(words, ziggurat(), 2.0**exponent, out)
    digest.update(out.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize(
    "choice",
    [
        {"TACIT_ISA": "generic"},
        {"TACIT_ISA": "avx2"},
        {"TACIT_ISA": "avx512"},
        {"TACIT_KERNELS": "reference"},
    ],
)
def test_every_build_draws_the_same(choice):
    digest = hashlib.sha256()
    for exponent in (0, 4, 20, 35, 45):
        used, out = draw(rounded_gaussian, stream(exponent, 30_000), 2.0**exponent, 20_011)
        assert used
        digest.update(out.tobytes())
    told = subprocess.run(
        [sys.executable, "-c", FINGERPRINT],
        env=os.environ | choice,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == digest.hexdigest()
