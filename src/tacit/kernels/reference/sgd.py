# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent on rows of factors, rating by rating, and noise added to rows.

Ratings come chunk by chunk: `task_visits` are the first visits of each task, `visit_ratings` the
first ratings of each visit, and a visit is one user's ratings of one tier of items. Rows are padded
with zeros to a multiple of 16 floats. `step` is (mean of all ratings, step size, ridge).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sgd_tasks(  # noqa: PLR0913, PLR0917  (a kernel takes flat arrays)
    task_visits: NDArray[np.int64],
    visit_ratings: NDArray[np.int64],
    visit_user: NDArray[np.int32],
    items: NDArray[np.int32],
    values: NDArray[np.float32],
    step: NDArray[np.float32],
    U: NDArray[np.float32],
    V: NDArray[np.float32],
    user_offsets: NDArray[np.float32],
    item_offsets: NDArray[np.float32],
    board: NDArray[np.int64],
) -> None:
    """Take tasks from the board until none is left: all of them, in their order, on one thread.

    board[0] counts the tasks taken. With groups, two counters of each follow, by which compiled
    threads wait for each other; here they are only kept up to date.
    """
    mean, rate, ridge = step
    keep = np.float32(1) - rate * ridge
    groups = len(board) // 2
    while (task := int(board[0])) < len(task_visits) - 1:
        board[0] += 1
        for visit in range(task_visits[task], task_visits[task + 1]):
            i = visit_user[visit]
            for p in range(visit_ratings[visit], visit_ratings[visit + 1]):
                j = items[p]
                u, v = U[i].copy(), V[j].copy()
                error = values[p] - mean - user_offsets[i] - item_offsets[j] - u @ v
                U[i] = keep * u + rate * error * v
                V[j] = keep * v + rate * error * u
                user_offsets[i] = keep * user_offsets[i] + rate * error
                item_offsets[j] = keep * item_offsets[j] + rate * error
        if groups:
            turn, group = divmod(task, groups)
            board[1 + group] += 1
            board[1 + groups + (group + turn) % groups] += 1


def add_rows(
    rows: NDArray[np.int32],
    scale: NDArray[np.float32],
    noise: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """To the first columns of out[rows[p]] add scale[p] * noise[p], for every p; no row twice."""
    out[rows, : noise.shape[1]] += scale[:, None] * noise.astype(np.float32)
