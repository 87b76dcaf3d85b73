# SPDX-License-Identifier: Apache-2.0
"""Picks the compiled kernels, or their NumPy twins where the extension is absent.

TACIT_KERNELS=reference in the environment picks the twins on purpose (slow; for tests).
"""

import os
from importlib.util import find_spec

if os.environ.get("TACIT_KERNELS") == "reference" or find_spec("tacit.kernels._kernels") is None:
    from tacit.kernels.reference.solve import solve_users
else:
    from tacit.kernels._kernels import solve_users

__all__ = ["solve_users"]
