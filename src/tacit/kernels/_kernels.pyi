# SPDX-License-Identifier: Apache-2.0
import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def rounded_gaussian(
    words: NDArray[np.uint64],
    steps: NDArray[np.float64],
    widths: NDArray[np.float64],
    inner: NDArray[np.float64],
    floors: NDArray[np.float64],
    heights: NDArray[np.float64],
    out: NDArray[np.int64],
) -> int: ...
