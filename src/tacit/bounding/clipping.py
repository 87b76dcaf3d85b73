# SPDX-License-Identifier: Apache-2.0
"""Cutting single values and whole rows down to a public bound; nothing is ever lengthened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.kernels import sum_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# A shortened row is aimed this much below its bound, so that rounding its entries to float32
# (a relative 2^-24 each) cannot bring it back above.
_ROUNDING = 1 - 2.0**-22


def clip_values(values: NDArray[np.float32], bound: float) -> NDArray[np.float32]:
    """Every value into [-bound, bound]; what is not a number becomes 0.

    Guarantee:
        abs(result) <= bound for every entry, whatever the input; local.
    """
    return np.clip(np.nan_to_num(values, nan=0.0), -_below(bound), _below(bound))


def clip_norms(rows: NDArray[np.float32], bound: float) -> NDArray[np.float32]:
    """Each row u of a dense array to u * min(1, bound / ||u||).

    Guarantee:
        Every row has Euclidean norm at most bound, whatever the input (what is not a number counts
        as 0, an infinity as the largest float32); rows inside the bound are unchanged; local.
    """

    def norms(of: NDArray[np.float32]) -> NDArray[np.float64]:
        wide = of.astype(np.float64)
        squares: NDArray[np.float64] = np.einsum("ur,ur->u", wide, wide)
        return np.sqrt(squares)

    finite, lengths = _finite(rows, norms)
    return _shortened(finite, _scales(lengths, bound)[:, None])


def clip_rows(
    values: NDArray[np.float32], indptr: NDArray[np.int64], bound: float
) -> NDArray[np.float32]:
    """Each user's whole CSR row of values to a Euclidean norm of at most bound, keeping direction.

    Guarantee:
        As `clip_norms`, for rows values[indptr[u]:indptr[u + 1]].
    """

    def norms(of: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.sqrt(sum_rows(np.square(of, dtype=np.float64), indptr))

    finite, lengths = _finite(values, norms)
    return _shortened(finite, np.repeat(_scales(lengths, bound), np.diff(indptr)))


def _finite(
    rows: NDArray[np.float32],
    norms: Callable[[NDArray[np.float32]], NDArray[np.float64]],
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rows in which every number is finite, and their norms, which tell whether one was not."""
    lengths = norms(rows)
    if np.isfinite(lengths).all():
        return rows, lengths
    finite = np.nan_to_num(rows, nan=0.0)
    return finite, norms(finite)


def _scales(norms: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Bound / norm where the norm is above the bound, else 1."""
    most = _positive(bound) * _ROUNDING
    long = norms > most
    return np.where(long, most / np.maximum(norms, most), 1.0)


def _shortened(rows: NDArray[np.float32], scales: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows times scales; a scale of 1 changes no bit."""
    return (rows * scales).astype(np.float32)


def _positive(bound: float) -> float:
    """The bound, refused unless it is a positive number."""
    if not 0 < bound < np.inf:
        raise ValueError(f"bound must be > 0 and finite, got {bound}")
    return bound


def _below(bound: float) -> np.float32:
    """The largest float32 that is not above the bound."""
    nearest = np.float32(_positive(bound))
    return nearest if float(nearest) <= bound else np.nextafter(nearest, np.float32(0))
