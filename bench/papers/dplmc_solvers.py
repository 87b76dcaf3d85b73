# SPDX-License-Identifier: Apache-2.0
"""The solvers of dplmc_synthetic.py with the settings that its search found."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tacit
from tacit.accounting import gdp
from tacit.datasets.papers import dplmc_synthetic

if TYPE_CHECKING:
    from searching import Ranges, Settings

    from tacit.datasets.experiment import Experiment
    from tacit.solvers.base import Solver

DELTA = 1e-5
VARIANCE = 0.022  # of an entry of the true matrix, for each factor; about, and public

NOISY = {"eta": 0.5, "alpha_1": 0.7, "chance": 1.0, "balance": 1.0}
EXACT = {
    "steps": 40,
    "eta": 0.5,
    "alpha_1": 1.5,
    "alpha_2": 3.0,  # the longest row of all may be an item's
    "row_bound": 0.3,
    "chance": 0.003,
    "balance": 1.0,
}
TUNED = {"steps": 3, "start_size": 0.1, "gram_part": 0.35, "clip": 0.5, "user_bound": 1.0}
# By solver, noise and epsilon.
FOUND: dict[str, dict[float, dict[float, Settings]]] = {
    "DPLMC": {
        1.0: {
            2.0: NOISY | {"steps": 40, "row_bound": 2.0},
            5.0: NOISY | {"steps": 40, "row_bound": 1.0},
        },
        0.0: {5.0: EXACT},
    },
    "DPALS": {
        1.0: {
            2.0: {
                "steps": 3,
                "ridge": 300,
                "items_per_user": 30,
                "start_size": 0.1,
                "gram_part": 0.5,
            },
            5.0: {
                "steps": 4,
                "ridge": 300,
                "items_per_user": 60,
                "start_size": 0.3,
                "gram_part": 0.5,
            },
            20.0: {
                "steps": 1,
                "ridge": 100,
                "items_per_user": 60,
                "start_size": 0.3,
                "gram_part": 0.35,
            },
        },
        0.0: {
            2.0: {
                "steps": 2,
                "ridge": 300,
                "items_per_user": 40,
                "start_size": 0.3,
                "gram_part": 0.5,
            },
            5.0: {
                "steps": 5,
                "ridge": 300,
                "items_per_user": 30,
                "start_size": 0.3,
                "gram_part": 0.35,
            },
            20.0: {
                "steps": 3,
                "ridge": 10,
                "items_per_user": 30,
                "start_size": 0.3,
                "gram_part": 0.2,
            },
        },
    },
    "DPALS tuned": {
        1.0: {
            2.0: TUNED | {"ridge": 1, "items_per_user": 30},
            5.0: TUNED | {"ridge": 1, "items_per_user": 40},
        },
        0.0: {
            2.0: TUNED
            | {"steps": 5, "ridge": 30, "items_per_user": 30, "start_size": 0.03, "gram_part": 0.2}
            | {"clip": 1.0, "user_bound": 0.5},
            5.0: TUNED
            | {"ridge": 1, "items_per_user": 50, "start_size": 0.03, "gram_part": 0.5}
            | {"clip": 1.0, "user_bound": 0.5},
        },
    },
    "ALS": {
        1.0: {
            5.0: {
                "steps": 16,
                "averaging": 0.3,
                "row_bound": 1.0,
                "factor_bound": 0.8,
                "chance": 1.0,
            }
        },
        0.0: {
            5.0: {
                "steps": 16,
                "averaging": 0.3,
                "row_bound": 0.1,
                "factor_bound": 1.2,
                "chance": 0.03,
            }
        },
    },
}
RANGES: dict[str, Ranges] = {
    "DPLMC": {
        "steps": (8, 15, 30, 60),
        "eta": (0.25, 0.5, 1.0),
        "alpha_1": (0.7, 1.0, 1.5, 2.2),
        "row_bound": (0.1, 0.3, 1.0, 2.0),
        "chance": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        "balance": (0.0, 1.0),
    },
    "DPALS": {
        "steps": (1, 2, 3, 4, 5),
        "ridge": (1, 3, 10, 30, 100, 300),
        "items_per_user": (30, 40, 50, 60),
        "start_size": (0.03, 0.1, 0.3, 1.0),
        "gram_part": (0.1, 0.2, 0.35, 0.5),
    },
    "ALS": {
        "steps": (8, 16, 24),
        "averaging": (0.2, 0.3, 0.5),
        "row_bound": (0.1, 0.3, 1.0, 2.0),
        "factor_bound": (0.5, 0.8, 1.2),
        "chance": (0.01, 0.03, 0.1, 0.3, 1.0),
    },
}
RANGES["DPALS tuned"] = RANGES["DPALS"] | {
    "clip": (0.5, 1.0, 2.0, 4.0),
    "user_bound": (0.2, 0.5, 1.0, 2.0),
}


@dataclass(frozen=True)
class Cell:
    """One point of a figure."""

    users: int
    noise: float
    epsilon: float
    start: str = "random"
    rank: int = 5

    def made(self, seed: int) -> Experiment:
        return generated(self.users, self.rank, self.noise, seed)


@functools.lru_cache(maxsize=16)
def generated(users: int, rank: int, noise: float, seed: int) -> Experiment:
    return dplmc_synthetic(users, rank=rank, noise=noise, seed=seed)


def solver(name: str, cell: Cell, settings: Settings, width: float) -> Solver:
    """Settings are in units of the public sizes: of an entry, and of a rating with its noise."""
    some, rank, unit = dict(settings), cell.rank, width / 4
    variance = VARIANCE * rank
    first = 0.2 if cell.epsilon <= 2 else 1.0
    share = (gdp.mu(first, DELTA) / gdp.mu(max(cell.epsilon, 1.5), DELTA)) ** 2
    if name in {"DPLMC", "ALS"}:
        some["chance"] *= max(cell.noise**2, variance) / unit**2
        some["row_bound"] *= math.sqrt(cell.noise**2 + variance) / width
        some |= {"rank": rank, "explained": variance / unit**2}
    if name == "ALS":
        return tacit.ALS(gram="shared", offset_share=0.0, gram_share=0.02, chance_share=0.0, **some)
    if name == "DPLMC":
        if cell.start == "random":
            some["steps"] *= 2  # on some data sets a descent from chance is slow at first
        p = rank * math.log(cell.users) / 100
        return tacit.Gradient(p=p, mean_ridge=math.inf, start=cell.start, init_share=share, **some)
    steps = some.pop("steps")
    some["start_size"] *= math.sqrt(rank) / unit
    some = {"clip": 4.0, "user_bound": 2.0} | some
    some["clip"] /= width
    gram = tacit.PerItem(
        sampling="uniform", centring="none", start=cell.start, start_share=share, **some
    )
    return tacit.ALS(rank=rank, steps=steps, averaging=1.0, gram=gram)


def settings(name: str, cell: Cell) -> Settings:
    """Those of the epsilon that was searched and is nearest."""
    some = FOUND[name][cell.noise]
    return some[min(some, key=lambda epsilon: abs(math.log(epsilon / cell.epsilon)))]
