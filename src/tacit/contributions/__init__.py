# SPDX-License-Identifier: Apache-2.0
"""What one user adds to a sum: one class for each sum, each with its bound and its proof."""

from tacit.contributions.base import Contribution, Part, Sums
from tacit.contributions.covariance import Covariance
from tacit.contributions.descended_rows import DescendedRows
from tacit.contributions.descent import Descended, Descent, DescentRule
from tacit.contributions.factors import UserFactors
from tacit.contributions.item_gradient import GramAndGradient, ItemGradient
from tacit.contributions.item_grams import ItemGramsAndGradient
from tacit.contributions.item_sums import ItemCounts, ItemSums
from tacit.contributions.least_squares import LeastSquares
from tacit.contributions.power_product import PowerEnergy, PowerProduct
from tacit.contributions.residuals import Residuals
from tacit.contributions.rows import RowPolicy, Rows
from tacit.contributions.seen import Seen
from tacit.contributions.seen_products import SeenProducts
from tacit.contributions.shared_gram import RightHandSides, SharedGram, SharedLeastSquares
from tacit.contributions.user_metric import UserMetric

# Every contribution there is. The tests that carry the privacy proof run over this table, and one
# of them fails when a class of this package is missing from it.
REGISTRY: dict[str, type[Contribution]] = {
    each.__name__: each
    for each in (
        Covariance,
        DescendedRows,
        GramAndGradient,
        ItemCounts,
        ItemGradient,
        ItemGramsAndGradient,
        ItemSums,
        LeastSquares,
        PowerEnergy,
        PowerProduct,
        RightHandSides,
        SeenProducts,
        SharedGram,
        SharedLeastSquares,
        UserMetric,
    )
}

__all__ = [
    "REGISTRY",
    "Contribution",
    "Covariance",
    "Descended",
    "DescendedRows",
    "Descent",
    "DescentRule",
    "GramAndGradient",
    "ItemCounts",
    "ItemGradient",
    "ItemGramsAndGradient",
    "ItemSums",
    "LeastSquares",
    "Part",
    "PowerEnergy",
    "PowerProduct",
    "Residuals",
    "RightHandSides",
    "RowPolicy",
    "Rows",
    "Seen",
    "SeenProducts",
    "SharedGram",
    "SharedLeastSquares",
    "Sums",
    "UserFactors",
    "UserMetric",
]
