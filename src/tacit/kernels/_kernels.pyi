# SPDX-License-Identifier: Apache-2.0
import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def rounded_gaussian(
    words: NDArray[np.uint64], table: NDArray[np.float64], std: float, out: NDArray[np.int64]
) -> int: ...
