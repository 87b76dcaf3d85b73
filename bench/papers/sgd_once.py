# SPDX-License-Identifier: Apache-2.0
"""Some epochs of SGD and nothing else, for Cachegrind to look at (see sgld_speed.py).

    python bench/papers/sgd_once.py EXTENSION RATINGS.npz RANK tiers|random EPOCHS

Imports NumPy and the extension alone: under Valgrind every import costs seconds.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

import numpy as np


def main() -> int:
    extension, file, rank, order, epochs = sys.argv[1:]
    spec = spec_from_loader("_kernels", ExtensionFileLoader("_kernels", extension))
    kernels = module_from_spec(spec)
    spec.loader.exec_module(kernels)
    with np.load(file) as data:
        user, items, values = (data[name] for name in ("user", "items", "values"))
        if order == "random":
            user, items, values = (each[data["mixed"]] for each in (user, items, values))
    starts = np.flatnonzero(np.diff(user, prepend=-1))
    U, V = (np.full((each.max() + 1, int(rank)), 0.01, np.float32) for each in (user, items))
    of_users, of_items = (np.zeros(len(rows), np.float32) for rows in (U, V))
    step = np.array([0.0, 0.05, 0.07], np.float32)
    tasks, visits = np.array([0, len(starts)]), np.append(starts, len(user))
    for _ in range(int(epochs)):
        board = np.zeros(1, np.int64)
        kernels.sgd_tasks(
            tasks, visits, user[starts], items, values, step, U, V, of_users, of_items, board
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
