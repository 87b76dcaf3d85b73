# SPDX-License-Identifier: Apache-2.0
"""What users do, by the name it has in the model file; least squares is `FoldIn`'s own."""

from tacit.user_steps.base import UserStep
from tacit.user_steps.frank_wolfe import FrankWolfeReplay
from tacit.user_steps.neighbours import Neighbours
from tacit.user_steps.projected_gradient import GradientReplay
from tacit.user_steps.projection import Projection
from tacit.user_steps.seen_projection import SeenProjection

# The tests that every step must pass run over this table.
STEPS: dict[str, type[UserStep]] = {
    each.kind: each
    for each in (FrankWolfeReplay, GradientReplay, Neighbours, Projection, SeenProjection)
}

__all__ = [
    "STEPS",
    "FrankWolfeReplay",
    "GradientReplay",
    "Neighbours",
    "Projection",
    "SeenProjection",
    "UserStep",
]
