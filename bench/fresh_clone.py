# SPDX-License-Identifier: Apache-2.0
"""How long a newcomer waits: the two commands of the README in a fresh clone, building included.

python bench/fresh_clone.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {"demo": 180, "test": 900}  # seconds on 2 cores


def main() -> int:
    print(describe(2))
    print("repeats    one; packages come from the registry or the cache of the package installer\n")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        for target, limit in LIMITS.items():
            start = time.perf_counter()
            done = subprocess.run(
                ["make", target], cwd=folder, capture_output=True, text=True, check=False
            )
            seconds = time.perf_counter() - start
            missed |= done.returncode != 0 or seconds > limit
            last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "no output"
            print(
                f"make {target}: {seconds:.0f} s (limit {limit} s), exit {done.returncode}: {last}"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
