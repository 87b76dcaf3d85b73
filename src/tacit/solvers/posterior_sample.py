# SPDX-License-Identifier: Apache-2.0
"""`Langevin(guarantee="posterior")`: the plan and the fit of one posterior sample, corrected.

The paper's exponent is epsilon / (4 B) for a user's loss of at most B. An exact sample of exp(-c F)
is c B-private when a user's row is zeroed out, so c = epsilon / B here, and the paper's epsilon is
worth a quarter of what it says (half, when rows are replaced).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan, Release
from tacit.folding import Centring, FoldIn

if TYPE_CHECKING:
    from tacit.mechanisms.curator import Curator
    from tacit.mechanisms.posterior import Posterior

SAMPLE = "factors"


def plan(target: Posterior) -> Plan:
    """One sample, at the temperature that calibration chooses."""
    size, bound = target.n_items * target.rank, target.loss_bound
    return Plan((Release(SAMPLE, bound, std=bound, size=size, posterior=True),))


def fit(target: Posterior, curator: Curator, steps: int) -> FoldIn:
    """The sample's item factors; users fold in by the ridge of F, as in equation (5)."""
    V = curator.posterior_sample(target, SAMPLE, steps).astype(np.float32)
    offsets = np.full(target.n_items, target.middle)
    return FoldIn(V, Centring(offsets), ridge=target.ridge)
