# SPDX-License-Identifier: Apache-2.0
"""The algorithms, by the name they have on the command line."""

from tacit.solvers.als import ALS
from tacit.solvers.base import Solver
from tacit.solvers.gradient import Gradient
from tacit.solvers.item_offsets import ItemOffsets
from tacit.solvers.langevin import Langevin
from tacit.solvers.popularity import Popularity

# The tests that every solver must pass run over this table.
SOLVERS: dict[str, type[Solver]] = {
    "als": ALS,
    "gradient": Gradient,
    "item-offsets": ItemOffsets,
    "langevin": Langevin,
    "popularity": Popularity,
}

__all__ = ["ALS", "SOLVERS", "Gradient", "ItemOffsets", "Langevin", "Popularity", "Solver"]
