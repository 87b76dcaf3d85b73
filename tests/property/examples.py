# SPDX-License-Identifier: Apache-2.0
"""Several instances of every contribution, and users who try to weigh more than they may."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.contributions import (
    Covariance,
    Descended,
    DescendedRows,
    Descent,
    DescentRule,
    GramAndGradient,
    ItemCounts,
    ItemGradient,
    ItemGramsAndGradient,
    ItemSums,
    LeastSquares,
    PowerEnergy,
    PowerProduct,
    Residuals,
    RightHandSides,
    Rows,
    Seen,
    SeenProducts,
    SharedGram,
    SharedLeastSquares,
    UserFactors,
    UserMetric,
)
from tacit.data.block import UserBlock
from tacit.folding import Centring, FoldIn
from tacit.user_steps import FrankWolfeReplay, GradientReplay, SeenProjection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tacit.contributions import Contribution

MANY_ITEMS = 10_677  # what the heaviest user of MovieLens 10M could have rated


class User(NamedTuple):
    items: np.ndarray
    values: np.ndarray


def block_of(
    users: Iterable[User], n_items: int, levels: Iterable[float] | None = None
) -> UserBlock:
    users = list(users)
    sizes = [len(user.items) for user in users]
    return UserBlock(
        levels=None if levels is None else np.array(list(levels), np.float32),
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items=np.concatenate([np.zeros(0), *(user.items for user in users)]).astype(np.int32),
        values=np.concatenate([np.zeros(0), *(user.values for user in users)]).astype(np.float32),
        n_items=n_items,
    )


def examples(n_items: int) -> dict[str, list[Contribution]]:
    """Every contribution over that many items, in the ways that solvers use it and some others."""
    rng = np.random.default_rng(7)
    counts = np.floor(rng.pareto(1.0, n_items) * 10) - 3.0  # noisy: some are negative
    held_out = rng.random(n_items) < 0.3
    held_out[: n_items // 20 + 1] = True
    direction = rng.standard_normal(n_items)
    direction /= np.linalg.norm(direction)
    axis = np.zeros(n_items)
    axis[0] = -1.0

    by_user = Centring(rng.normal(3.5, 0.4, n_items), mean_ridge=5.0)
    full_mean = Centring(3.0, mean_ridge=0.0)
    plain = Rows(clip=2.0, centring=by_user)
    adaptive = Rows(clip=1.5, centring=full_mean, noisy_counts=counts, power=0.25)
    limited = Rows(clip=1.0, weighting="ones", item_limit=7)
    rarest = Rows(clip=2.5, centring=by_user, weighting="ones", item_limit=50, noisy_counts=counts)
    ones = Rows(clip=4.0, weighting="ones")
    among = Rows(clip=1.0, centring=by_user, noisy_counts=counts, power=0.5, among=~held_out)

    def users(rank: int, bound: float, centring: Centring | None = None, **more: float):
        V = rng.normal(0, 1 / math.sqrt(rank), (n_items, rank)).astype(np.float32)
        return UserFactors(FoldIn(V, centring or Centring(), **more), bound)

    def descending(rank: int, bound: float, centring: Centring):
        """Users after three steps of descent."""
        V = rng.normal(0, 1 / math.sqrt(rank), (3, n_items, rank)).astype(np.float32)
        rule = DescentRule(centring, ridge=0.5, ridge_ratings=1.0, bound=bound)
        steps = Descent(rule, V[0], None, 1.0, before=None)
        steps = Descent(rule, V[1], rng.normal(0, 0.1, (rank, rank)), 0.5, before=steps)
        return UserFactors(Descended(V[2], Descent(rule, V[1], None, 0.7, before=steps)), bound)

    explicit = users(4, 1.0, by_user, ridge=10.0)
    frequency = users(3, 0.7, full_mean, ridge=0.1, ridge_power=0.5)
    implicit = users(5, 2.0, ridge=0.01, ridge_power=1.0, unobserved=0.1)
    single = users(1, 1.0)
    _, aside = overshooting(n_items)
    few = min(n_items, 400)  # the triangle of 10,677 rows would be half a gigabyte
    return {
        "ItemSums": [
            ItemSums(n_items, plain, 1.0),
            ItemSums(n_items, adaptive, 1.5),
            ItemSums(n_items, ones, 3.0),
            ItemSums(n_items, limited, math.sqrt(7)),
            ItemSums(n_items, among, 0.9),
        ],
        "ItemCounts": [ItemCounts(n_items, rows) for rows in (plain, adaptive, limited, rarest)],
        "LeastSquares": [
            LeastSquares(plain, explicit),
            LeastSquares(adaptive, frequency),
            LeastSquares(rarest, single),
            LeastSquares(limited, implicit),
        ],
        "SharedGram": [SharedGram(each) for each in (explicit, frequency, implicit, single)],
        "RightHandSides": [
            RightHandSides(plain, explicit),
            RightHandSides(limited, implicit),
        ],
        "SharedLeastSquares": [
            SharedLeastSquares(plain, explicit),
            SharedLeastSquares(adaptive, frequency),
            SharedLeastSquares(limited, single),
        ],
        "ItemGradient": [
            ItemGradient(plain, explicit, 1.5),
            ItemGradient(ones, frequency, 3.0),
            ItemGradient(rarest, single, 2.0),
        ],
        "GramAndGradient": [
            GramAndGradient(plain, explicit, 1.5),
            GramAndGradient(adaptive, frequency, 1.0),
            GramAndGradient(plain, explicit, 1.5, chance_bound=2.0),
            GramAndGradient(among, frequency, 1.0, chance_bound=0.3),
            GramAndGradient(plain, descending(3, 0.8, by_user), 1.5),
        ],
        "ItemGramsAndGradient": [
            ItemGramsAndGradient(plain, explicit, 1.5),
            ItemGramsAndGradient(rarest, single, 2.0),
            ItemGramsAndGradient(among, frequency, 1.0),
            ItemGramsAndGradient(rarest, explicit, 1.0, chance_bound=0.5),
        ],
        "PowerProduct": [
            PowerProduct(ones, 3.0, direction),
            PowerProduct(plain, 1.0, axis),
            PowerProduct(plain, 1.0, axis, along=0.3),
            PowerProduct(Residuals(aside), 6.0, direction_of(aside)),
        ],
        "PowerEnergy": [
            PowerEnergy(ones, 3.0, direction),
            PowerEnergy(plain, 1.0, axis),
            PowerEnergy(plain, 1.0, axis, along=0.3),
            PowerEnergy(Residuals(aside), 6.0, direction_of(aside)),
        ],
        "Covariance": [
            Covariance(few, ones, 5.0),
            Covariance(few, adaptive_for(adaptive, few), 1.5),
            Covariance(few, Residuals(overshooting(few)[0]), 3.0),
            Covariance(few, Residuals(overshooting(few)[1]), 6.0),
            Covariance(few, Seen(adaptive_for(adaptive, few)), 1.0),
        ],
        "SeenProducts": [SeenProducts(fold, bound) for fold, bound in projecting(n_items)],
        "DescendedRows": [DescendedRows(each) for each in descended(few)],
        "UserMetric": [
            UserMetric(explicit.fold, 4.0),
            UserMetric(implicit.fold, 0.25, error="absolute"),
            UserMetric(frequency.fold, 1.0, held_out=held_out),
            UserMetric(FoldIn(np.zeros((n_items, 0), np.float32), by_user), 2.0),
        ],
    }


def overshooting(n_items: int) -> tuple[FoldIn, FoldIn]:
    """Replays of Frank-Wolfe: one before the first direction, and one with steps far too long.

    Such a step throws a user beyond her ratings, to the other side of the ball of radius L: her
    residual then has norm nearly 2 L.
    """
    rng = np.random.default_rng(3)
    v = rng.standard_normal(n_items)
    near = v + 0.1 * rng.standard_normal(n_items)
    V = np.array([near / np.linalg.norm(near), v / np.linalg.norm(v), v / np.linalg.norm(v)]).T
    before = FoldIn(np.zeros((n_items, 0), np.float32), step=FrankWolfeReplay(3.0, 0.9))
    after = FrankWolfeReplay(3.0, 0.9, pulls=(0.0, 1e5, 1e5))
    return before, FoldIn(V.astype(np.float32), step=after)


def projecting(n_items: int) -> list[tuple[FoldIn, float]]:
    """Users who project what they have seen, onto factors much longer than the bounds of theirs."""
    rng = np.random.default_rng(6)
    V = rng.normal(0, 9, (n_items, 3))
    V[:, 0] = np.abs(V[:, 0]) + 9
    weights = rng.uniform(0.2, 3.0, n_items)
    return [
        (FoldIn(np.column_stack([V, weights]).astype(np.float32), step=SeenProjection()), 2.0),
        (
            FoldIn(
                np.column_stack([V[:, :1], weights]).astype(np.float32),
                Centring(0.001),
                step=SeenProjection(0.5, 4.0),
            ),
            0.3,
        ),
    ]


def direction_of(fold: FoldIn) -> np.ndarray:
    """The last direction of a replay, of length 1 in double precision."""
    v = fold.item_factors[:, -1].astype(np.float64)
    return v / np.linalg.norm(v)


def descended(n_items: int) -> list[FoldIn]:
    """Replays of projected gradient descent: before the first subspace, and after two."""
    rng = np.random.default_rng(4)
    rank = min(2, n_items)
    V = [np.linalg.qr(rng.standard_normal((n_items, rank)))[0] for _ in range(2)]
    turns = (tuple(map(tuple, (V[0].T @ V[1]).tolist())),)
    kept = ((1.0, 0.5)[:rank],) * 2
    centring = Centring(3.0, mean_ridge=1.0)
    return [
        FoldIn(
            np.zeros((n_items, 0), np.float32), centring, step=GradientReplay(1.0, 2.0, float(rank))
        ),
        FoldIn(
            np.concatenate(V, axis=1).astype(np.float32),
            centring,
            step=GradientReplay(0.5, 3.0, float(rank), kept, turns),
        ),
    ]


def adaptive_for(rows: Rows, n_items: int) -> Rows:
    """The same weights over the first items only."""
    return Rows(rows.clip, rows.centring, noisy_counts=rows.noisy_counts[:n_items], power=0.25)


def n_items_of(contribution: Contribution) -> int:
    """How many items the contribution was made for."""
    if isinstance(contribution, PowerProduct | PowerEnergy):
        return len(contribution.direction)
    if isinstance(contribution, UserMetric):
        return contribution.fold.n_items
    owner = contribution if hasattr(contribution, "n_items") else contribution.users
    return owner.n_items


def adversaries(contribution: Contribution) -> dict[str, User]:
    """One user after the other who would break a bound that is only nearly kept."""
    n = n_items_of(contribution)
    everything = np.arange(n)
    signs = np.where(everything % 2, -1.0, 1.0)
    rng = np.random.default_rng(11)
    some = rng.permutation(n)[: min(n, 64)]
    users = {
        "no ratings": User(everything[:0], np.zeros(0)),
        "one rating, lowest": User(everything[:1], np.full(1, -1e30)),
        "one rating, highest": User(everything[-1:], np.full(1, 1e30)),
        "one rating of zero": User(everything[:1], np.zeros(1)),
        "two extremes": User(everything[:2], np.array([1e30, -1e30])),
        "two ordinary": User(everything[:2], np.array([5.0, 1.0])),
        "all items, all highest": User(everything, np.full(n, 1e30)),
        "all items, alternating": User(everything, 1e30 * signs),
        "all items, ordinary": User(everything, rng.integers(1, 6, n)),
        "all items, subnormal": User(everything, 1e-40 * signs),
        "all items, one huge": User(everything, np.where(everything == n // 2, 1e30, 1.0)),
        "some items, growing": User(some, 2.0 ** np.arange(len(some))),
        "some items, alternating": User(some, 50.0 * np.where(np.arange(len(some)) % 2, -1, 1)),
        "not numbers": User(everything, np.full(n, np.nan)),
        "one not a number": User(some, np.where(some == some[0], np.nan, 4.0)),
        "infinite": User(some, np.where(some == some[0], np.inf, -np.inf)),
        "as many as one item limit": User(some[:7], np.full(min(7, n), 1e30)),
    }
    fold = getattr(getattr(contribution, "users", contribution), "fold", None)
    fold = getattr(getattr(contribution, "rows", None), "fold", fold)
    if fold is not None:
        for k in range(fold.rank):
            users[f"along factor {k}"] = User(everything, 1e6 * fold.item_factors[:, k])
    if (v := getattr(contribution, "direction", None)) is not None:
        users["along the direction"] = User(everything, 50.0 * v)
        users["against the direction"] = User(everything, -1.0 * v)
    for bound in ("clip", "bound", "row_bound", "chance_bound"):
        for owner in (contribution, getattr(contribution, "rows", None)):
            if (size := getattr(owner, bound, None)) is not None:
                users[f"exactly at {bound}"] = User(everything[:1], np.array([size]))
                users[f"all just above {bound}"] = User(everything, np.full(n, size * (1 + 1e-6)))
    return users
