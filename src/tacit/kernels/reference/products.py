# SPDX-License-Identifier: Apache-2.0
"""What users' factors say of the items they rated.

Not by BLAS: there the last bits of a product may depend on its neighbours in the same call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Ratings per pass: the gathered rows stay in the cache.
_AT_A_TIME = 1 << 12


def row_products(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    user_factors: NDArray[np.float32],
    item_factors: NDArray[np.float32],
) -> NDArray[np.float32]:
    """User's row . item's row for every rating, in an order that depends on the rank alone."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    products = np.empty(len(items), np.float32)
    for start in range(0, len(products), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        U = user_factors.take(users[some], axis=0)
        V = item_factors.take(items[some], axis=0)
        np.einsum("pk,pk->p", U, V, out=products[some])
    return products
