# SPDX-License-Identifier: Apache-2.0
"""Rate of rounded Gaussian noise beside NumPy's normals, one thread, one run.

    python bench/kernels/noise.py > bench/results/noise.txt

Fails where the noise is not at least three times as fast as standard_normal from Philox.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from machine import describe
from tacit.kernels import isa
from tacit.kernels import rounded_gaussian as kernel
from tacit.kernels.reference.noise import ziggurat
from tacit.mechanisms.entropy import NoiseSource
from tacit.mechanisms.gaussian import RELATIVE_ERROR, rounded_gaussian

if TYPE_CHECKING:
    from collections.abc import Callable

N = 1 << 18  # a few milliseconds of NumPy's, so that a busy machine rarely cuts into one
CHUNK = 1 << 15
REPEATS = 300
IN_A_ROW = 6
EXPONENTS = (4, 20, 35, 40, 45)
WANTED = 3.0


def best_times(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best time of each, in turns of a few, so that all see warm caches and one machine."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(REPEATS // IN_A_ROW):
        for name, work in (pair for pair in works.items() for _ in range(IN_A_ROW)):
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def works() -> dict[str, Callable[[], object]]:
    """What is timed, N values each; NumPy is spared the making of its result, tacit is not."""
    source = NoiseSource()
    philox = np.random.Generator(np.random.Philox())
    normals = np.empty(N)
    words, out = np.empty(CHUNK + CHUNK // 4, np.uint64), np.empty(CHUNK, np.int64)
    source.fill(words)

    def bytes_alone() -> None:
        for _ in range(N // CHUNK):
            source.fill(words[:CHUNK])

    def sampler_alone() -> None:
        for _ in range(N // CHUNK):
            assert kernel(words, ziggurat(), 2.0**20, out)

    return {
        "standard_normal": lambda: philox.standard_normal(out=normals),
        "bytes": bytes_alone,
        "sampler": sampler_alone,
        **{f"2^{e}": lambda e=e: rounded_gaussian(2.0**e, N, source) for e in EXPONENTS},
    }


def main() -> int:
    """Time, print, and judge."""
    print(describe(1))
    print(f"kernel     {isa()}")
    print(f"task       {N} values, best of {REPEATS} repeats, in turns of {IN_A_ROW}")
    print(f"error      every cell's probability within a factor 1 +- {RELATIVE_ERROR:.1e}\n")
    rates = {name: N / seconds / 1e6 for name, seconds in best_times(works()).items()}
    normals = rates["standard_normal"]
    print(f"Philox standard_normal(out=), float64     {normals:7.1f} M/s")
    print(f"AES-256-CTR words alone                   {rates['bytes']:7.1f} M/s", end="")
    print(f"  ({rates['bytes'] * 8 / 1000:.1f} GB/s)")
    print(f"sampler alone, words given                {rates['sampler']:7.1f} M/s")
    for e in EXPONENTS:
        rate = rates[f"2^{e}"]
        print(
            f"rounded_gaussian, std 2^{e:<2} (bytes, all)    {rate:7.1f} M/s  {rate / normals:.2f}x"
        )
    ratio = min(rates[f"2^{e}"] for e in EXPONENTS) / normals
    print(f"\nsmallest ratio {ratio:.2f} (wanted: {WANTED:.0f} or more)")
    return 0 if ratio >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
