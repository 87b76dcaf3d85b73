# SPDX-License-Identifier: Apache-2.0
"""The algorithms, by the name they have on the command line."""

from tacit.solvers.als import ALS
from tacit.solvers.base import Solver
from tacit.solvers.gradient import Gradient
from tacit.solvers.item_offsets import ItemOffsets
from tacit.solvers.langevin import Langevin
from tacit.solvers.popularity import Popularity
from tacit.solvers.sgd import SGD

# The tests that every solver must pass run over this table.
SOLVERS: dict[str, type[Solver]] = {
    "als": ALS,
    "gradient": Gradient,
    "item-offsets": ItemOffsets,
    "langevin": Langevin,
    "popularity": Popularity,
}

# These work on raw ratings: they refuse every finite budget, and what they make is never private.
UNPROTECTED: dict[str, type[Solver]] = {"sgd": SGD}

__all__ = [
    "ALS",
    "SGD",
    "SOLVERS",
    "UNPROTECTED",
    "Gradient",
    "ItemOffsets",
    "Langevin",
    "Popularity",
    "Solver",
]
