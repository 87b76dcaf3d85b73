# SPDX-License-Identifier: Apache-2.0
"""The one error of the data layer."""

from __future__ import annotations


class DataError(ValueError):
    """The source cannot be read as ratings: says what is wrong, where, and what to do next.

    Guarantee: the message names columns, row numbers (the first data row is 1) and rules only. It
    holds no user's id, no rating, no item id and no message of a library that may quote them, and
    nothing is chained to it.
    """
