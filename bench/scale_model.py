# SPDX-License-Identifier: Apache-2.0
"""x"""


def shape_of(found, rank, steps):
    return None


def check(pairs):
    return True
