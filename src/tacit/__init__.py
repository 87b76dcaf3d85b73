# SPDX-License-Identifier: Apache-2.0
"""Recommenders whose item factors do not give away any one user.

ratings = tacit.read("ratings.parquet")
fit = tacit.fit(ratings, epsilon=1.0)
fit.model.save("model/")
print(fit.statement)
tacit.load("model/").recommend({"Toy Story (1995)": 5.0}, n=10)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.accounting.statement import PrivacyStatement
    from tacit.data.errors import DataError
    from tacit.data.read import read
    from tacit.mechanisms.ledger import BudgetError
    from tacit.model.file import ModelFileError
    from tacit.model.item_model import ItemModel, load
    from tacit.serving.nearest import NearestItems
    from tacit.serving.recommend_file import recommend_file
    from tacit.serving.recommend_frame import recommend_frame
    from tacit.solvers.als import ALS
    from tacit.solvers.frank_wolfe import FrankWolfe
    from tacit.solvers.gradient import Gradient
    from tacit.solvers.implicit import Implicit
    from tacit.solvers.item_offsets import ItemOffsets
    from tacit.solvers.langevin import Langevin
    from tacit.solvers.per_item import PerItem
    from tacit.solvers.projected_gradient import ProjectedGradient
    from tacit.solvers.sgd import SGD
    from tacit.solvers.svd import SVD
    from tacit.solvers.warm_start import WarmStart
    from tacit.training import fit

# Loaded on first use, so that `import tacit` costs nothing.
_HOME = {
    "BudgetError": "tacit.mechanisms.ledger",
    "DataError": "tacit.data.errors",
    "ALS": "tacit.solvers.als",
    "FrankWolfe": "tacit.solvers.frank_wolfe",
    "Gradient": "tacit.solvers.gradient",
    "Implicit": "tacit.solvers.implicit",
    "ItemModel": "tacit.model.item_model",
    "ItemOffsets": "tacit.solvers.item_offsets",
    "Langevin": "tacit.solvers.langevin",
    "ModelFileError": "tacit.model.file",
    "NearestItems": "tacit.serving.nearest",
    "PerItem": "tacit.solvers.per_item",
    "SGD": "tacit.solvers.sgd",
    "PrivacyStatement": "tacit.accounting.statement",
    "ProjectedGradient": "tacit.solvers.projected_gradient",
    "SVD": "tacit.solvers.svd",
    "WarmStart": "tacit.solvers.warm_start",
    "fit": "tacit.training",
    "load": "tacit.model.item_model",
    "read": "tacit.data.read",
    "recommend_file": "tacit.serving.recommend_file",
    "recommend_frame": "tacit.serving.recommend_frame",
}

__all__ = [
    "ALS",
    "SGD",
    "SVD",
    "BudgetError",
    "DataError",
    "FrankWolfe",
    "Gradient",
    "Implicit",
    "ItemModel",
    "ItemOffsets",
    "Langevin",
    "ModelFileError",
    "NearestItems",
    "PerItem",
    "PrivacyStatement",
    "ProjectedGradient",
    "WarmStart",
    "datasets",
    "fit",
    "load",
    "read",
    "recommend_file",
    "recommend_frame",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("tacit.datasets")
    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
