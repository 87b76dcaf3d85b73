# SPDX-License-Identifier: Apache-2.0
from numpy import bool_, float32, float64, int32, int64, uint64
from numpy.typing import NDArray

def isa() -> str: ...

# sums: see reference/sums.py
def snap_rows(
    values: NDArray[float32] | NDArray[float64], indptr: NDArray[int64], step: float, limit: int
) -> NDArray[int32]: ...
def sum_rows(
    values: NDArray[float32] | NDArray[float64], indptr: NDArray[int64]
) -> NDArray[float64]: ...
def hash_rows(indptr: NDArray[int64], items: NDArray[int32], seed: int) -> NDArray[uint64]: ...
def keep_smallest(indptr: NDArray[int64], keys: NDArray[uint64], most: int) -> NDArray[bool_]: ...
def scatter_sum(items: NDArray[int32], amounts: NDArray[int32], out: NDArray[int64]) -> None: ...
def scatter_outer(
    indptr: NDArray[int64],
    items: NDArray[int32],
    amounts: NDArray[int32],
    rows: NDArray[int32],
    out: NDArray[int64],
) -> None: ...
def scatter_gram(
    indptr: NDArray[int64],
    items: NDArray[int32],
    amounts: NDArray[int32],
    rows: NDArray[int32],
    out: NDArray[int64],
) -> None: ...
def gram(rows: NDArray[int32], amounts: NDArray[int32], out: NDArray[int64]) -> None: ...
def scatter_pairs(
    indptr: NDArray[int64],
    items: NDArray[int32],
    amounts: NDArray[int32],
    out: NDArray[int64],
) -> None: ...

# noise: see reference/noise.py
def rounded_gaussian(
    words: NDArray[uint64], table: NDArray[float64], std: float, out: NDArray[int64]
) -> int: ...

# solve: see reference/solve.py
def solve_users(
    indptr: NDArray[int64],
    items: NDArray[int32],
    targets: NDArray[float32],
    weights: NDArray[float32],
    factors: NDArray[float32],
    ridge: NDArray[float32],
    prior: NDArray[float32],
) -> NDArray[float32]: ...

# items: see reference/items.py
def solve_items(
    matrices: NDArray[float64], ridges: NDArray[float64], sides: NDArray[float64]
) -> tuple[NDArray[float64], NDArray[bool_]]: ...

# products: see reference/products.py
def row_products(
    indptr: NDArray[int64],
    items: NDArray[int32],
    user_factors: NDArray[float32],
    item_factors: NDArray[float32],
) -> NDArray[float32]: ...

# descend: see reference/descend.py
def descend_users(
    indptr: NDArray[int64],
    items: NDArray[int32],
    targets: NDArray[float32],
    factors: NDArray[float32],
    start: NDArray[float32],
    turn: NDArray[float32],
    rates: NDArray[float32],
    ridge: float,
) -> NDArray[float32]: ...

# rank: see reference/rank.py
def pack_items(factors: NDArray[float32], offsets: NDArray[float32]) -> NDArray[float32]: ...
def rank_users(
    factors: NDArray[float32],
    packed: NDArray[float32],
    items: int,
    n: int,
    indptr: NDArray[int64],
    excluded: NDArray[int32],
) -> tuple[NDArray[int32], NDArray[float32]]: ...

# sgd: see reference/sgd.py
def sgd_tasks(
    task_visits: NDArray[int64],
    visit_ratings: NDArray[int64],
    visit_user: NDArray[int32],
    items: NDArray[int32],
    values: NDArray[float32],
    step: NDArray[float32],
    U: NDArray[float32],
    V: NDArray[float32],
    user_offsets: NDArray[float32],
    item_offsets: NDArray[float32],
    board: NDArray[int64],
) -> None: ...
def add_rows(
    rows: NDArray[int32],
    scale: NDArray[float32],
    noise: NDArray[int64],
    out: NDArray[float32],
) -> None: ...

# replay: see reference/replay.py
def replay_users(
    indptr: NDArray[int64],
    items: NDArray[int32],
    targets: NDArray[float32],
    directions: NDArray[float32],
    pulls: NDArray[float32],
    keep: float,
    length: float,
) -> tuple[NDArray[float32], NDArray[float32]]: ...
