# SPDX-License-Identifier: Apache-2.0
"""Picks the compiled kernels, or their NumPy twins where the extension is absent.

TACIT_KERNELS=reference in the environment picks the twins on purpose (slow; for tests).
TACIT_ISA=generic or avx2 lowers the instruction set of the compiled ones.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, cast

from tacit.kernels.reference import descend as _descend
from tacit.kernels.reference import items as _items
from tacit.kernels.reference import noise as _noise
from tacit.kernels.reference import products as _products
from tacit.kernels.reference import rank as _rank
from tacit.kernels.reference import replay as _replay
from tacit.kernels.reference import sgd as _sgd
from tacit.kernels.reference import solve as _solve
from tacit.kernels.reference import sums as _sums

if TYPE_CHECKING:
    from types import ModuleType

_Kernel = TypeVar("_Kernel")


def _extension() -> ModuleType | None:
    """The compiled module, unless absent or unwanted."""
    if os.environ.get("TACIT_KERNELS") == "reference":
        return None
    try:
        return import_module("tacit.kernels._kernels")
    except ImportError:
        return None


_compiled = _extension()


def _pick(twin: _Kernel) -> _Kernel:
    """The compiled kernel of the same name, else the twin itself."""
    name = cast("str", getattr(twin, "__name__", ""))
    return cast("_Kernel", getattr(_compiled, name, twin))


def isa() -> str:
    """What runs: "avx512", "avx2", "generic", or "reference" for the NumPy twins."""
    return "reference" if _compiled is None else str(_compiled.isa())


add_rows = _pick(_sgd.add_rows)
descend_users = _pick(_descend.descend_users)
gram = _pick(_sums.gram)
hash_rows = _pick(_sums.hash_rows)
keep_smallest = _pick(_sums.keep_smallest)
pack_items = _pick(_rank.pack_items)
rank_users = _pick(_rank.rank_users)
replay_users = _pick(_replay.replay_users)
rounded_gaussian = _pick(_noise.rounded_gaussian)
row_products = _pick(_products.row_products)
scatter_gram = _pick(_sums.scatter_gram)
scatter_outer = _pick(_sums.scatter_outer)
scatter_pairs = _pick(_sums.scatter_pairs)
scatter_sum = _pick(_sums.scatter_sum)
sgd_tasks = _pick(_sgd.sgd_tasks)
snap_rows = _pick(_sums.snap_rows)
solve_items = _pick(_items.solve_items)
solve_users = _pick(_solve.solve_users)
sum_rows = _pick(_sums.sum_rows)

__all__ = [
    "add_rows",
    "descend_users",
    "gram",
    "hash_rows",
    "isa",
    "keep_smallest",
    "pack_items",
    "rank_users",
    "replay_users",
    "rounded_gaussian",
    "row_products",
    "scatter_gram",
    "scatter_outer",
    "scatter_pairs",
    "scatter_sum",
    "sgd_tasks",
    "snap_rows",
    "solve_items",
    "solve_users",
    "sum_rows",
]
