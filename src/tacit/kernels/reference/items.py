# SPDX-License-Identifier: Apache-2.0
"""Many small symmetric systems, one for each item.

Not by BLAS: its own threads meet those that share out the items, and then everybody waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_solve

if TYPE_CHECKING:
    from numpy.typing import NDArray


def solve_items(
    matrices: NDArray[np.float64], ridges: NDArray[np.float64], sides: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(A_j + ridge_j I)^-1 b_j for each item, and whether that matrix has a Cholesky factor.

    Where it has none, the solution is zeros. What is below the diagonals is not looked at.
    """
    solutions = np.zeros(sides.shape)
    positive = np.zeros(len(sides), np.bool_)
    identity = np.eye(matrices.shape[-1])
    for j, matrix in enumerate(matrices):
        upper = np.triu(matrix)
        A = upper + np.triu(upper, 1).T + ridges[j] * identity
        try:
            L = np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            continue
        positive[j] = True
        solutions[j] = cho_solve((L, True), sides[j])
    return solutions, positive
