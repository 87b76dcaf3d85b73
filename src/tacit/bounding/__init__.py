# SPDX-License-Identifier: Apache-2.0
"""One user at a time: what she adds is clipped, limited, weighted and put on the grid.

Every function is pure and local: what comes out for a user depends on her own row and on public
inputs only, so neither other users nor the way they are cut into blocks can change it.
"""

from tacit.bounding import clipping, grid, item_limit, levels, weights

__all__ = ["clipping", "grid", "item_limit", "levels", "weights"]
