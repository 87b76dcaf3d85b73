# SPDX-License-Identifier: Apache-2.0
"""The solvers of dpals_synthetic.py with their settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tacit

if TYPE_CHECKING:
    from searching import Ranges, Settings

    from tacit.solvers.base import Solver

EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0)

# Lengths are in deviations of an entry.
FOUND: dict[str, dict[float, Settings]] = {
    "ALS": {
        epsilon: {
            "steps": 16,
            "averaging": 0.3,
            "row_bound": row_bound,
            "factor_bound": 1.2,
            "chance": 0.03,
        }
        for epsilon, row_bound in zip(EPSILONS, (0.03, 0.03, 0.1, 0.1, 0.3), strict=True)
    }
    | {
        math.inf: {
            "steps": 20,
            "averaging": 0.6,
            "row_bound": 3.0,
            "factor_bound": 2.5,
            "chance": 1e-6,
        }
    },
    "DPALS": {
        epsilon: {
            "steps": steps,
            "averaging": 1.0,
            "ridge": ridge,
            "items_per_user": 150,
            "clip": clip,
            "start_size": size,
            "gram_part": 0.2,
        }
        for epsilon, steps, clip, ridge, size in (
            (1.0, 2, 2.0, 1.0, 0.1),
            (2.0, 2, 2.0, 1.0, 0.1),
            (5.0, 2, 2.0, 1.0, 0.1),
            (10.0, 3, 3.0, 1.0, 0.1),
            (20.0, 3, 3.0, 1.0, 0.1),
            (math.inf, 5, 12.0, 1e-4, 1.0),
        )
    },
    "FW": {
        epsilon: {"steps": steps, "nuclear_norm": norm, "row_bound": 16.0}
        for epsilon, steps, norm in zip(
            (*EPSILONS, math.inf),
            (6, 6, 8, 8, 10, 16),
            (4.0, 4.0, 5.0, 5.0, 5.0, 6.0),
            strict=True,
        )
    },
    "DPFW": {
        epsilon: {"steps": steps, "nuclear_norm": norm, "row_bound": 35.0}
        for epsilon, steps, norm in zip(
            EPSILONS, (3, 3, 3, 6, 6), (1.4, 1.4, 1.4, 1.8, 1.8), strict=True
        )
    },
}
RANGES: dict[str, Ranges] = {
    "ALS": {
        "steps": (8, 16, 24),
        "averaging": (0.2, 0.3, 0.5),
        "row_bound": (0.03, 0.1, 0.3, 1.0),
        "factor_bound": (0.9, 1.2, 1.8),
        "chance": (0.003, 0.01, 0.03),
    },
    "DPALS": {
        "steps": (2, 3, 4, 5),
        "averaging": (0.5, 1.0),
        "ridge": (0.3, 1.0, 3.0, 10.0, 30.0),
        "items_per_user": (50, 100, 150),
        "clip": (1.5, 2.0, 3.0, 5.0),
        "start_size": (0.03, 0.1, 0.2, 0.4),
        "gram_part": (0.1, 0.2, 0.35, 0.5),
    },
    "FW": {
        "steps": (2, 4, 8, 16, 40),
        "nuclear_norm": (1.0, 2.0, 3.0, 4.0, 6.0, 8.0),
        "row_bound": (10.0, 13.0, 16.0, 20.0),
    },
}
RANGES["DPFW"] = RANGES["FW"]


def solver(name: str, settings: Settings, width: float) -> Solver:
    """The solver's own settings: shares of the scale's width, or of a quarter of it."""
    some, unit = dict(settings), width / 4
    if name == "ALS":
        some["chance"] /= unit**2
        some["row_bound"] /= width
        return tacit.ALS(
            rank=5,
            gram="shared",
            offset_share=0.0,
            chance_share=0.0,
            gram_share=0.02,
            explained=1 / unit**2,
            **some,
        )
    if name == "DPALS":
        loop = {each: some.pop(each) for each in ("steps", "averaging")}
        some["clip"] /= width
        some["start_size"] *= math.sqrt(5) / unit
        paper = tacit.PerItem(sampling="uniform", centring="none", **some)
        return tacit.ALS(rank=5, gram=paper, **loop)
    some["row_bound"] /= width
    bound = 2.0 if name == "DPFW" else 1.0
    return tacit.FrankWolfe(direction="dense", offset_share=0.0, residual_bound=bound, **some)
