# SPDX-License-Identifier: Apache-2.0
import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def solve_users(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    targets: NDArray[np.float32],
    weights: NDArray[np.float32],
    factors: NDArray[np.float32],
    ridge: NDArray[np.float32],
    prior: NDArray[np.float32],
) -> NDArray[np.float32]: ...
