# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent on raw ratings (Liu, Wang, Smola, 2015, Algorithm 2): not private.

Nothing here bounds a user. What it makes leaves through `Curator.raw_result` only, which charges an
infinite price.
"""

from tacit.descent.chunks import Chunks, in_memory
from tacit.descent.engine import Descent
from tacit.descent.snapshots import Snapshots
from tacit.descent.state import State
from tacit.descent.stored import stored

__all__ = ["Chunks", "Descent", "Snapshots", "State", "in_memory", "stored"]
