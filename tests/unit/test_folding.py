# SPDX-License-Identifier: Apache-2.0
"""What users compute alone is right, finite, and the same in any company."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tacit import folding
from tacit.data.block import UserBlock
from tacit.folding import Centring, FoldIn, inner_products

N_ITEMS = 50


def make_block(rng, n_users=20, n_items=N_ITEMS, most=30):
    sizes = rng.integers(0, most, n_users)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.concatenate([rng.permutation(n_items)[:k] for k in sizes]).astype(np.int32)
    values = rng.integers(1, 6, len(items)).astype(np.float32)
    return UserBlock(indptr, items, values, n_items)


@pytest.fixture
def block(rng):
    return make_block(rng)


@pytest.fixture(params=[0, 1, 7, 40])
def fold(request, rng):
    V = rng.normal(0, 0.5, (N_ITEMS, request.param)).astype(np.float32)
    centring = Centring(rng.normal(3, 0.5, N_ITEMS), mean_ridge=3.0)
    return FoldIn(V, centring, ridge=0.3, ridge_power=0.5, unobserved=0.05)


def each(block):
    for u in range(block.n_users):
        yield block.rows(u, u + 1)


def test_means_are_shrunk_and_local(block):
    b = np.linspace(2, 4, N_ITEMS)
    means = Centring(b, mean_ridge=4.0).means(block)
    for mean, own in zip(means, each(block), strict=True):
        wanted = np.sum(own.values - b[own.items]) / (len(own.items) + 4.0)
        assert mean == pytest.approx(wanted, abs=1e-12)


def test_a_user_without_ratings_has_mean_zero():
    nobody = UserBlock(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 3)
    for ridge in (0.0, 1.0, np.inf):
        assert Centring(1.0, mean_ridge=ridge).means(nobody).tolist() == [0.0]


def test_targets_without_a_mean_are_ratings_above_the_offsets(block):
    b = np.linspace(2, 4, N_ITEMS)
    np.testing.assert_allclose(Centring(b).targets(block), block.values - b[block.items], atol=1e-6)
    np.testing.assert_array_equal(Centring(1.5).targets(block), block.values - np.float32(1.5))


def test_user_factors_minimise_the_loss_over_the_whole_catalogue(block, fold):
    V = fold.item_factors.astype(float)
    n, r = V.shape
    factors = fold.user_factors(block)
    assert factors.shape == (block.n_users, r)
    for x, own in zip(factors, each(block), strict=True):
        if not len(own.items):
            assert not x.any()
            continue
        t = fold.centring.targets(own)
        ridge = 0.3 * np.sqrt(len(own.items) + 0.05 * n)
        gradient = V[own.items].T @ (V[own.items] @ x - t) + 0.05 * V.T @ (V @ x) + ridge * x
        np.testing.assert_allclose(gradient, 0, atol=1e-4)


def test_nobody_depends_on_company(block, fold):
    """Bit by bit: what serving finds for one user is what training found among many."""
    together = fold.user_factors(block)
    predicted = fold.predict(block, block)
    for u, own in enumerate(each(block)):
        np.testing.assert_array_equal(fold.user_factors(own)[0], together[u])
        mine = slice(block.indptr[u], block.indptr[u + 1])
        np.testing.assert_array_equal(fold.predict(own, own), predicted[mine])


def test_nobody_depends_on_company_at_the_ranks_of_use(rng):
    """Light users (fewer ratings than the rank) and heavy ones, in every place of a block."""
    block = make_block(rng, n_users=37, n_items=400, most=200)
    for rank in (16, 64, 100):
        V = rng.normal(0, 0.3, (400, rank)).astype(np.float32)
        fold = FoldIn(V, Centring(3.0, mean_ridge=2.0), ridge=2.0)
        together = fold.user_factors(block)
        for u in range(block.n_users):
            np.testing.assert_array_equal(fold.user_factors(block.rows(u, u + 1))[0], together[u])
            some = block.rows(u, min(u + 3, block.n_users))
            np.testing.assert_array_equal(fold.user_factors(some)[0], together[u])


def test_predictions_are_mean_plus_offset_plus_product(block, fold, rng):
    asked = make_block(rng)
    x = fold.user_factors(block)
    means = fold.centring.means(block)
    predicted = fold.predict(block, asked)
    for u, own in enumerate(each(asked)):
        wanted = means[u] + fold.centring.offsets[own.items] + fold.item_factors[own.items] @ x[u]
        np.testing.assert_allclose(
            predicted[asked.indptr[u] : asked.indptr[u + 1]], wanted, atol=1e-5
        )


def test_a_single_offset_serves_all_items(block):
    V = np.zeros((N_ITEMS, 0), np.float32)
    assert np.all(FoldIn(V, Centring(3.0)).predict(block, block) == 3.0)


@pytest.mark.parametrize("rank", [0, 1, 3, 64])
def test_inner_products_do_not_depend_on_the_company(block, rng, rank):
    U = rng.standard_normal((block.n_users, rank)).astype(np.float32)
    V = rng.standard_normal((N_ITEMS, rank)).astype(np.float32)
    whole = inner_products(block, U, V)
    for u, own in enumerate(each(block)):
        here = slice(block.indptr[u], block.indptr[u + 1])
        np.testing.assert_array_equal(inner_products(own, U[u : u + 1], V), whole[here])
    wanted = np.sum(U[folding.users_of(block)].astype(float) * V[block.items], axis=1)
    np.testing.assert_allclose(whole, wanted, atol=1e-4)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_everything_stays_finite(fold, wild):
    values = np.array([wild, 4.0, wild], np.float32)
    own = UserBlock(np.array([0, 3]), np.array([0, 1, 2], np.int32), values, N_ITEMS)
    assert np.isfinite(fold.centring.means(own)).all()
    assert np.isfinite(fold.user_factors(own)).all()
    assert np.isfinite(fold.predict(own, own)).all()


def test_a_fold_in_survives_pickling_bit_by_bit(block, fold):
    again = pickle.loads(pickle.dumps(fold))
    np.testing.assert_array_equal(again.prior, fold.prior)
    np.testing.assert_array_equal(again.user_factors(block), fold.user_factors(block))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Centring(np.nan), "finite"),
        (lambda: Centring(0.0, mean_ridge=-1.0), "mean_ridge"),
        (lambda: Centring(0.0, mean_ridge=np.nan), "mean_ridge"),
        (lambda: FoldIn(np.zeros((2, 2))), "float32"),
        (lambda: FoldIn(np.full((2, 2), np.nan, np.float32)), "finite"),
        (lambda: FoldIn(np.zeros((2, 2), np.float32), ridge=0.0), "ridge"),
        (lambda: FoldIn(np.zeros((2, 2), np.float32), unobserved=-0.1), "unobserved"),
    ],
)
def test_public_inputs_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
