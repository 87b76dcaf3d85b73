# SPDX-License-Identifier: Apache-2.0
"""What users do, by the name it has in the model file; least squares is `FoldIn`'s own."""

from tacit.user_steps.base import UserStep
from tacit.user_steps.projection import Projection

# The tests that every step must pass run over this table.
STEPS: dict[str, type[UserStep]] = {each.kind: each for each in (Projection,)}

__all__ = ["STEPS", "Projection", "UserStep"]
