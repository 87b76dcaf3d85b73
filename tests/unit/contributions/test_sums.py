# SPDX-License-Identifier: Apache-2.0
"""Each contribution is the sum it says it is, up to the stated rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.contributions import (
    Covariance,
    GramAndGradient,
    ItemCounts,
    ItemGradient,
    ItemGramsAndGradient,
    ItemSums,
    LeastSquares,
    PowerEnergy,
    PowerProduct,
    RightHandSides,
    Rows,
    SeenProducts,
    SharedGram,
    SharedLeastSquares,
    UserFactors,
    UserMetric,
)
from tacit.contributions.base import Part
from tacit.contributions.rows import grid_of, snap_each
from tacit.data.block import UserBlock
from tacit.folding import Centring, FoldIn
from tacit.user_steps import SeenProjection

from . import plain

N_ITEMS = 30
N_USERS = 25


@pytest.fixture
def block(rng):
    sizes = rng.integers(1, 13, N_USERS)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.concatenate([rng.permutation(N_ITEMS)[:k] for k in sizes]).astype(np.int32)
    values = rng.integers(1, 11, len(items)).astype(np.float32) / 2
    return UserBlock(indptr, items, values, N_ITEMS)


@pytest.fixture
def counts(rng):
    return rng.normal(20, 15, N_ITEMS)


@pytest.fixture
def centring(rng):
    return Centring(rng.normal(3, 0.3, N_ITEMS), mean_ridge=2.0)


@pytest.fixture(params=["normalised", "adaptive", "uniform limit", "rarest first", "among"])
def rows(request, centring, counts):
    return {
        "normalised": Rows(clip=1.25, centring=centring),
        "adaptive": Rows(clip=1.25, centring=centring, noisy_counts=counts, power=0.25),
        "uniform limit": Rows(clip=2.0, weighting="ones", item_limit=4, seed=5),
        "rarest first": Rows(1.0, centring, "ones", item_limit=5, noisy_counts=counts),
        "among": Rows(1.0, centring, "ones", item_limit=3, among=counts > 15),
    }[request.param]


@pytest.fixture(params=["explicit", "frequency", "implicit"])
def users(request, rng, centring):
    V = rng.normal(0, 0.6, (N_ITEMS, 3)).astype(np.float32)
    return {
        "explicit": UserFactors(FoldIn(V, centring, ridge=2.0), bound=0.5),
        "frequency": UserFactors(FoldIn(V, centring, ridge=0.5, ridge_power=0.5), bound=3.0),
        "implicit": UserFactors(FoldIn(V, ridge=0.1, ridge_power=1.0, unobserved=0.2), bound=4.0),
    }[request.param]


def real(contribution, block):
    """The sums in real units, by part."""
    sums = contribution(block)
    return {part.name: sums[part.name] * part.step for part in contribution.parts}


def assert_near(got, wanted, bound):
    """Within 0.2% of one user's bound for each user; a wrong clip or weight is far outside."""
    assert got.shape == wanted.shape
    assert np.abs(wanted).max() > 0.1 * bound
    np.testing.assert_allclose(got, wanted, atol=2e-3 * bound * np.sqrt(N_USERS), rtol=0)


def norm_of_weights(rows):
    return 1.0 if rows.weighting == "normalised" else np.sqrt(rows.item_limit)


@pytest.mark.parametrize("row_bound", [0.7, 30.0])
def test_item_sums_and_counts(block, rows, row_bound):
    total, weight = np.zeros(N_ITEMS), np.zeros(N_ITEMS)
    for row in plain.prepared(rows, block):
        targets = np.clip(row.targets, -rows.clip, rows.clip)
        total[row.items] += plain.cut(row.weights * targets, row_bound)
        weight[row.items] += row.weights
    sums = real(ItemSums(N_ITEMS, rows, row_bound), block)["sum"]
    np.testing.assert_allclose(sums, total, atol=N_USERS * row_bound * 2.0**-18)
    counts = real(ItemCounts(N_ITEMS, rows), block)["count"]
    np.testing.assert_allclose(counts, weight, atol=N_USERS * 2.0**-18)


def test_weights_of_one_are_not_rounded(block):
    rows = Rows(weighting="ones", item_limit=5)
    counted = real(ItemCounts(N_ITEMS, rows), block)["count"]
    kept = np.concatenate([row.items for row in plain.prepared(rows, block)])
    np.testing.assert_allclose(counted, np.bincount(kept, minlength=N_ITEMS), rtol=1e-14)


def test_least_squares(block, rows, users):
    r, x_bound = users.rank, users.bound
    gram, rhs = np.zeros((N_ITEMS, r * (r + 1) // 2)), np.zeros((N_ITEMS, r))
    for (items, values), row in zip(plain.rows_of(block), plain.prepared(rows, block), strict=True):
        x = plain.cut(plain.solved(users.fold, items, values), x_bound)
        targets = np.clip(row.targets, -rows.clip, rows.clip)
        gram[row.items] += row.weights[:, None] * plain.triangle(np.outer(x, x))
        rhs[row.items] += (row.weights * targets)[:, None] * x
    got = real(LeastSquares(rows, users), block)
    w = norm_of_weights(rows)
    assert_near(got["gram"], gram, w * x_bound**2)
    assert_near(got["rhs"], rhs, w * rows.clip * x_bound)
    assert np.array_equal(real(RightHandSides(rows, users), block)["rhs"], got["rhs"])
    assert np.array_equal(real(SharedLeastSquares(rows, users), block)["rhs"], got["rhs"])


def test_shared_gram(block, rows, users):
    gram = np.zeros(users.rank * (users.rank + 1) // 2)
    for items, values in plain.rows_of(block):
        x = plain.cut(plain.solved(users.fold, items, values), users.bound)
        gram += plain.triangle(np.outer(x, x))
    got = real(SharedGram(users), block)["gram"]
    assert_near(got, gram, users.bound**2)
    assert np.array_equal(real(SharedLeastSquares(rows, users), block)["gram"], got)


@pytest.mark.parametrize("row_bound", [0.8, 30.0])
def test_item_gradient(block, rows, users, row_bound):
    gradient = np.zeros((N_ITEMS, users.rank))
    V = users.fold.item_factors.astype(float)
    for (items, values), row in zip(plain.rows_of(block), plain.prepared(rows, block), strict=True):
        x = plain.solved(users.fold, items, values)
        residuals = np.clip(row.targets - V[row.items] @ x, -rows.clip, rows.clip)
        pull = plain.cut(row.weights * residuals, row_bound)
        gradient[row.items] += pull[:, None] * plain.cut(x, users.bound)
    got = real(ItemGradient(rows, users, row_bound), block)["gradient"]
    assert_near(got, gradient, min(row_bound, norm_of_weights(rows) * rows.clip) * users.bound)
    both = real(ItemGramsAndGradient(rows, users, row_bound), block)
    assert np.array_equal(both["gradient"], got)
    assert np.array_equal(both["gram"], real(LeastSquares(rows, users), block)["gram"])


@pytest.mark.parametrize("chance_bound", [0.7, 30.0])
def test_chance_is_the_mean_of_target_times_residual(block, rows, users, chance_bound):
    V = users.fold.item_factors.astype(float)
    total = 0.0
    for (items, values), row in zip(plain.rows_of(block), plain.prepared(rows, block), strict=True):
        if len(row.items):
            x = plain.solved(users.fold, items, values)
            mean = np.mean(row.targets * (row.targets - V[row.items] @ x))
            total += np.clip(mean, 0, chance_bound)
    for kind in (GramAndGradient, ItemGramsAndGradient):
        got = real(kind(rows, users, 1.0, chance_bound), block)
        np.testing.assert_allclose(got["chance"], [total], atol=N_USERS * chance_bound * 1e-5)
        without = real(kind(rows, users, 1.0), block)
        assert set(got) - set(without) == {"chance"}
        assert all(np.array_equal(got[name], without[name]) for name in without)


@pytest.mark.parametrize("row_bound", [1.1, 40.0])
def test_power_and_covariance(block, rows, rng, row_bound):
    v = rng.standard_normal(N_ITEMS)
    v /= np.linalg.norm(v)
    A = np.zeros((N_USERS, N_ITEMS))
    for a, row in zip(A, plain.prepared(rows, block), strict=True):
        a[row.items] = plain.cut(
            row.weights * np.clip(row.targets, -rows.clip, rows.clip), row_bound
        )
    bound = min(row_bound, norm_of_weights(rows) * rows.clip) ** 2
    product = real(PowerProduct(rows, row_bound, v), block)["product"]
    assert_near(product, A.T @ (A @ v), bound)
    energy = real(PowerEnergy(rows, row_bound, v), block)["energy"]
    assert_near(energy, np.array([np.sum((A @ v) ** 2)]), bound)
    s = np.clip(A @ v, -0.2 * row_bound, 0.2 * row_bound)
    assert (np.abs(A @ v) > np.abs(s)).any() == (row_bound < 2)
    product = real(PowerProduct(rows, row_bound, v, along=0.2), block)["product"]
    assert_near(product, A.T @ s, bound)
    energy = real(PowerEnergy(rows, row_bound, v, along=0.2), block)["energy"]
    assert_near(energy, np.array([np.sum(s**2)]), bound)
    covariance = real(Covariance(N_ITEMS, rows, row_bound), block)["covariance"]
    assert_near(covariance, plain.triangle(A.T @ A), bound)


@pytest.mark.parametrize("error", ["squared", "absolute"])
@pytest.mark.parametrize("bound", [0.6, 25.0])
@pytest.mark.parametrize("marked", [None, 12])
def test_user_metric(block, users, error, bound, marked):
    fold = users.fold
    V = fold.item_factors.astype(float)
    b = np.broadcast_to(fold.centring.offsets, N_ITEMS)
    held_out = None if marked is None else np.arange(N_ITEMS) < marked
    total = 0.0
    for items, values in plain.rows_of(block):
        known = np.ones(len(items), bool) if marked is None else items >= marked
        tested = known if marked is None else ~known
        if not tested.any():
            continue
        x, mean = np.zeros(3), 0.0
        if known.any():
            x = plain.solved(fold, items[known], values[known])
            mean = np.sum(values[known] - b[items[known]]) / (
                known.sum() + fold.centring.mean_ridge
            )
        off = values[tested] - mean - b[items[tested]] - V[items[tested]] @ x
        total += min(np.mean(off**2 if error == "squared" else np.abs(off)), bound)
    got = real(UserMetric(fold, bound, error, held_out), block)["sum"]
    np.testing.assert_allclose(got, [total], atol=N_USERS * bound * 1e-5)


def test_snap_each_takes_any_number():
    bound = grid_of(2.0, 10)
    values = np.array([0.0, 1.0, -1.0, 2.0, 3.0, 1e300, -np.inf, np.inf, np.nan, 2.0**-11])
    snapped = snap_each(values, bound)
    assert snapped.tolist() == [0, 512, -512, 1024, 1024, 1024, -1024, 1024, 0, 0]


def test_weights_of_one_need_a_limit():
    with pytest.raises(ValueError, match="item_limit"):
        ItemCounts(N_ITEMS, Rows(weighting="ones")).zeros()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clip": 0.0}, "clip"),
        ({"clip": float("inf")}, "clip"),
        ({"weighting": "twos"}, "weighting"),
        ({"item_limit": 0}, "item_limit"),
    ],
)
def test_rows_refuse(wrong, message):
    with pytest.raises(ValueError, match=message):
        Rows(**wrong)


def test_power_product_refuses_a_direction_that_is_not_of_length_1():
    for v in (np.full(N_ITEMS, 1.0), np.zeros(N_ITEMS), np.full(N_ITEMS, np.nan)):
        with pytest.raises(ValueError, match="length 1"):
            PowerProduct(Rows(), 1.0, v)
        with pytest.raises(ValueError, match="length 1"):
            PowerEnergy(Rows(), 1.0, v)
    for share in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match="along must be above 0"):
            PowerProduct(Rows(), 1.0, np.eye(N_ITEMS)[0], along=share)


@pytest.mark.parametrize("bound", [0.4, 50.0])
def test_seen_products(block, rng, bound):
    V = rng.standard_normal((N_ITEMS, 3))
    w = rng.uniform(0.2, 2.0, N_ITEMS)
    step = SeenProjection(count_weight=0.5, most=2.5)
    fold = FoldIn(np.column_stack([V, w]).astype(np.float32), Centring(1.5), step=step)
    expected = np.zeros((N_ITEMS, 3))
    for items, values in plain.rows_of(block):
        a = np.where(values > 1.5, np.minimum(1 + 0.5 * (values - 1.5), 2.5), 0.0) * w[items]
        if a.any():
            a /= np.linalg.norm(a)
            x = plain.cut(a @ (V[items] * w[items, None]), bound)
            np.add.at(expected, items, np.outer(a, x))
    got = real(SeenProducts(fold, bound), block)["product"]
    assert_near(got, expected, bound)


def test_seen_products_need_the_step_that_projects(rng):
    fold = FoldIn(rng.standard_normal((N_ITEMS, 3)).astype(np.float32))
    with pytest.raises(TypeError, match="project what they have seen"):
        _ = SeenProducts(fold, 1.0).parts


def test_user_metric_refuses(rng):
    fold = FoldIn(np.zeros((N_ITEMS, 2), np.float32))
    with pytest.raises(ValueError, match="squared"):
        UserMetric(fold, 1.0, error="cubic")
    with pytest.raises(ValueError, match="every item"):
        UserMetric(fold, 1.0, held_out=np.zeros(3, bool))


@pytest.mark.parametrize(
    ("limit", "step"), [(0, 1.0), (1, 0.0), (1, -1.0), (1, np.inf), (1, np.nan)]
)
def test_a_part_needs_a_bound(limit, step):
    with pytest.raises(ValueError, match="part 'sum': limit must be >= 1 and step a positive"):
        Part("sum", (3,), limit, step)
