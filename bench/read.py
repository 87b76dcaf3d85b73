# SPDX-License-Identifier: Apache-2.0
"""How long, and in how much memory, 25 million ratings are read, grouped by user and encoded.

Each reading runs in a process of its own, whose peak resident memory is compared with the peak of a
process that only imports the package; the result itself is counted out. The same rows are grouped
by pandas in the same run, for a ratio that does not depend on the machine.

    python bench/read.py > bench/results/read.txt
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from machine import describe

USERS, ITEMS, RATINGS = 160_000, 60_000, 25_000_000
LIMIT = 2 * 2**30


def write(folder: Path, ratings: int) -> None:
    """Unique pairs in no order, with ids that have gaps; integers and strings."""
    step = USERS * ITEMS // ratings | 1
    with duckdb.connect(config={"threads": 2, "memory_limit": "2GB"}) as database:
        database.execute(
            f"""COPY (SELECT ((n * {step}) % {USERS} * 7 + 3)::INTEGER AS user,
            ((n * {step}) // {USERS} % {ITEMS} * 3 + 1)::INTEGER AS item,
            ((hash(n) % 10 + 1) / 2)::FLOAT AS rating FROM range({ratings}) AS r(n)
            ORDER BY hash(n)) TO '{folder}/integers.parquet'"""
        )
        database.execute(
            f"""COPY (SELECT 'user-' || user AS user, 'item-' || item AS item, rating
            FROM '{folder}/integers.parquet') TO '{folder}/strings.parquet'"""
        )
        database.execute(
            f"""COPY (SELECT * FROM '{folder}/integers.parquet') TO '{folder}/ratings.csv'"""
        )


def tacit_read(path: str) -> int:
    from tacit.data.read import read  # noqa: PLC0415 (only in this process)

    ratings = read(path)
    block = ratings.block
    arrays = (block.indptr, block.items, block.values, ratings.user_ids, ratings.catalogue.ids)
    return sum(array.nbytes for array in arrays)


def pandas_read(path: str) -> int:
    import numpy as np  # noqa: PLC0415 (only in this process)
    import pandas as pd  # noqa: PLC0415 (only in this process)

    frame = pd.read_csv(path) if path.endswith("csv") else pd.read_parquet(path)
    users, _ = pd.factorize(frame["user"], sort=True)
    items, _ = pd.factorize(frame["item"], sort=True)
    order = np.lexsort((items, users))
    kept = (items[order].astype(np.int32), frame["rating"].to_numpy()[order].astype(np.float32))
    return sum(array.nbytes for array in kept)


def nothing(_: str) -> int:
    import tacit.data.read  # noqa: F401, PLC0415 (what it weighs to import)

    return 0


WAYS = {"tacit": tacit_read, "pandas": pandas_read, "nothing": nothing}


def measured(way: str, path: Path | str) -> dict[str, float]:
    """Seconds, peak memory and size of the result, of one process."""
    command = [sys.executable, __file__, "--child", way, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(way: str, path: str) -> None:
    start = time.perf_counter()
    size = WAYS[way](path)
    seconds = time.perf_counter() - start
    cpu, peak = time.process_time(), resident_peak()
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "size": size}))


def resident_peak() -> float:
    """Bytes; the system's count of a process begins with the peak of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return float(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def main(ratings: int, repeats: int) -> None:
    print(describe(2))
    print(f"rows: {ratings:,}; users: {USERS:,}; items: {ITEMS:,}; best of {repeats}")
    empty = measured("nothing", "-")["peak"]
    print(f"peak of a process that only imports the package: {empty / 2**20:,.0f} MiB\n")
    print("| source | reader | seconds | CPU seconds | peak MiB | result MiB | beyond it MiB |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), ratings)
        for name in ("integers.parquet", "strings.parquet", "ratings.csv"):
            for way in ("tacit", "pandas"):
                runs = [measured(way, Path(folder) / name) for _ in range(repeats)]
                seconds, cpu = (min(run[key] for run in runs) for key in ("seconds", "cpu"))
                peak, size = max(run["peak"] for run in runs), runs[0]["size"]
                beyond = peak - size
                worst = max(worst, beyond if way == "tacit" else 0)
                mib = [f"{value / 2**20:,.0f}" for value in (peak, size, beyond)]
                cells = [name, way, f"{seconds:.1f}", f"{cpu:.1f}", *mib]
                print(f"| {' | '.join(cells)} |", flush=True)
    verdict = "holds" if worst <= LIMIT else "is broken"
    print(f"\nlimit of 2 GiB beyond the result: {verdict} ({worst / 2**30:.2f} GiB at worst)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=RATINGS)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--child", nargs=2)
    asked = parser.parse_args()
    if asked.child:
        child(*asked.child)
    else:
        main(asked.ratings, asked.repeats)
