# SPDX-License-Identifier: Apache-2.0
"""The synthetic experiments of three papers, generated as their texts say.

Where a text leaves a choice open, the docstring names what was chosen. Scales are bounds that hold
for the whole true matrix, so they say nothing about which entries were observed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.block import UserBlock
from tacit.data.catalogue import Scale
from tacit.datasets.experiment import Experiment, assemble, index_pointers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.data.ratings import Ratings

_ROWS_AT_A_TIME = 4096
_NOISE_CUT = 6.0  # standard deviations; one normal in 500 million lies outside


def dpals_synthetic(users: int, items: int = 1000, rank: int = 5, *, seed: int = 0) -> Experiment:
    """Exact low-rank data of "Private Alternating Least Squares" (2021), section 6.1.

    The truth is a product of two random matrices with orthonormal columns, scaled so that the
    standard deviation of its entries is 1. Each entry is observed independently with probability
    20 log(users) / items, without noise. The paper splits the observations into train, validation
    and test without saying how; here 80%, 10% and 10%, each observation independently.

    Raises:
        ValueError: if users or items are fewer than the rank.
    """
    if min(users, items) < max(rank, 2):
        raise ValueError("users and items must be at least the rank, and at least 2")
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((users, rank)))[0]
    right = np.linalg.qr(rng.standard_normal((items, rank)))[0]
    size = float(users) * items
    mean = left.sum(0) @ right.sum(0) / size
    left /= math.sqrt(rank / size - mean**2)
    # Half of the scale to each side, so that neither factor is extreme.
    balance = math.sqrt(_longest(right) / _longest(left))
    left, right = left * balance, right / balance
    observed = min(20 * math.log(users) / items, 1.0)
    shares = np.array([0.8, 0.1, 0.1]) * observed
    pieces = _pieces(_split_by_chance(users, items, shares, rng), items)
    return _experiment(pieces, left, right, 0.0, rng)


def dplmc_synthetic(
    users: int = 10_000,
    items: int = 100,
    rank: int = 5,
    *,
    noise: float = 1.0,
    validation: float = 0.1,
    seed: int = 0,
) -> Experiment:
    """Data of "DP Matrix Completion through Low-rank Matrix Factorization" (2023), section 6.

    Factors are standard Gaussian, both scaled by one number so that the longest row of either has
    norm 2. Observed entries carry Gaussian noise of standard deviation `noise` (the paper: 0 or 1;
    cut at six deviations, which one entry in 500 million would pass). A part of all entries is
    for validation (its size is not given; a tenth by default leaves room for every rank of
    figure 3); of the others rank * users * log(users) chosen uniformly are for training, and the
    rest are the test, without noise, because the paper's error is against the true matrix.

    Raises:
        ValueError: if the matrix is too small for that many observations.
    """
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((users, rank))
    right = rng.standard_normal((items, rank))
    factor = 2.0 / max(_longest(left), _longest(right))
    held_out = round(validation * users * items)
    wanted = round(rank * users * math.log(users))
    if held_out + wanted >= users * items:
        raise ValueError(
            f"rank * users * log(users) = {wanted} training entries and {held_out} for validation "
            f"leave no test entry in a {users} x {items} matrix: take more items, a lower rank "
            "or a smaller validation part"
        )
    piece = np.full(users * items, 2, np.int8)
    piece[:wanted] = 0
    piece[wanted : wanted + held_out] = 1
    rng.shuffle(piece)
    pieces = _pieces([piece.reshape(users, items)], items)
    return _experiment(pieces, left * factor, right * factor, noise, rng)


def rank_one(
    users: int = 500_000, items: int = 400, *, per_user: int = 80, seed: int = 0
) -> Experiment:
    """Data of "Differentially Private Matrix Completion Revisited" (2018), section 4.

    The truth is u v^T with largest absolute entry 1 (u and v uniform, since the paper only says
    random). 1% of all entries, each independently, are the test; of the others at most `per_user`
    of each user, chosen uniformly, are for training.
    """
    rng = np.random.default_rng(seed)
    left = rng.uniform(-1, 1, (users, 1))
    right = rng.uniform(-1, 1, (items, 1))
    left /= np.abs(left).max()
    right /= np.abs(right).max()
    pieces = _pieces(_split_with_limit(users, items, per_user, rng), items)
    return _experiment({0: pieces[0], 2: pieces[2]}, left, right, 0.0, rng)


def _longest(rows: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(rows, axis=1).max())


def _split_by_chance(
    users: int, items: int, shares: NDArray[np.float64], rng: np.random.Generator
) -> list[NDArray[np.int8]]:
    """For every entry its piece: 0, 1, 2 by chance with these shares, 3 for not observed."""
    limits = np.cumsum(shares)
    return [
        np.searchsorted(
            limits, rng.random((min(_ROWS_AT_A_TIME, users - start), items)), side="right"
        ).astype(np.int8)
        for start in range(0, users, _ROWS_AT_A_TIME)
    ]


def _split_with_limit(
    users: int, items: int, per_user: int, rng: np.random.Generator
) -> list[NDArray[np.int8]]:
    """For every entry its piece: 2 for 1% of all, 0 for at most per_user others a row, else 3."""
    parts = []
    for start in range(0, users, _ROWS_AT_A_TIME):
        keys = rng.random((min(_ROWS_AT_A_TIME, users - start), items), np.float32)
        test = keys < 0.01
        part = np.where(test, np.int8(2), np.int8(3))
        keys[test] = 2.0
        kept = np.argpartition(keys, min(per_user, items) - 1)[:, :per_user]
        np.put_along_axis(part, kept, np.int8(0), 1)
        part[test] = 2
        parts.append(part)
    return parts


def _pieces(parts: list[NDArray[np.int8]], items: int) -> dict[int, UserBlock]:
    """The entries of pieces 0, 1 and 2 as blocks without values."""
    blocks = {}
    for piece in range(3):
        chosen = [part == piece for part in parts]
        counts = np.concatenate([np.count_nonzero(c, axis=1) for c in chosen]).astype(np.int64)
        which = np.concatenate([np.nonzero(c)[1].astype(np.int32) for c in chosen])
        blocks[piece] = UserBlock(index_pointers(counts), which, np.empty(0, np.float32), items)
    return blocks


def _experiment(
    pieces: dict[int, UserBlock],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    noise: float,
    rng: np.random.Generator,
) -> Experiment:
    """Values for every piece: the truth, with noise everywhere but in the test."""
    bound = float(np.nextafter(np.float32(_longest(left) * _longest(right)), np.float32(np.inf)))
    scale = Scale(-bound - _NOISE_CUT * noise, bound + _NOISE_CUT * noise)

    def rated(piece: int) -> Ratings:
        block = pieces[piece]
        values = _entries(block, left, right)
        if noise and piece != 2:
            drawn = rng.standard_normal(len(values), np.float32)
            values += noise * np.clip(drawn, -_NOISE_CUT, _NOISE_CUT)
        return assemble(block.with_values(values), scale)

    return Experiment(
        train=rated(0),
        validation=rated(1) if 1 in pieces else None,
        test=rated(2),
        user_factors=left,
        item_factors=right,
    )


def _entries(
    block: UserBlock, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float32]:
    """The true matrix at the block's entries."""
    values = np.empty(len(block.items), np.float32)
    for start in range(0, block.n_users, _ROWS_AT_A_TIME):
        rows = block.rows(start, min(start + _ROWS_AT_A_TIME, block.n_users))
        exact = left[start + rows.user_of_rating()]
        here = slice(block.indptr[start], block.indptr[start] + len(rows.items))
        values[here] = np.einsum("pk,pk->p", exact, right[rows.items])
    return values
