# SPDX-License-Identifier: Apache-2.0
"""`ALS` with a Gram matrix for each item: likelihood, the papers' loss, and every option."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.solvers import ALS
from tacit.solvers.item_likelihood import shrunk_grams
from tacit.solvers.item_solves import by_items, positive_part, solved, symmetric
from tacit.solvers.moments import leading
from tacit.solvers.per_item import PerItem

N_USERS, N_ITEMS = 150, 24

PAPER = {"ridge": 0.5, "centring": "global", "sampling": "rarest", "items_per_user": 10}
FORMS = {
    "likelihood": PerItem(),
    "likelihood, frequent items, adaptive weights": PerItem(frequent=0.5, weight_power=0.25),
    "loss": PerItem(ridge=0.5),
    "loss, adaptive weights": PerItem(ridge=0.5, weight_power=0.5, item_power=1.0),
    "published": PerItem(**PAPER),
    "published, all of it": PerItem(
        **PAPER, frequent=0.6, item_power=0.5, user_power=1.0, unobserved=0.1, basis="orthonormal",
        start="spectral",
    ),
    "published, uniform": PerItem(**PAPER | {"sampling": "uniform", "projection": "none"}),
    "implicit": PerItem(ridge=0.1, centring="none", unobserved=0.3, clip=1.0),
}  # fmt: skip


def block_of(rng, n_users=N_USERS, n_items=N_ITEMS, rank=2, noise=0.1):
    """Ratings around 3 of low rank with a little noise, 8 to 20 for each user."""
    left = rng.normal(0, 1, (n_users, rank))
    right = rng.normal(0, 0.5, (n_items, rank))
    rows = [np.sort(rng.permutation(n_items)[: rng.integers(8, 21)]) for _ in range(n_users)]
    items = np.concatenate(rows).astype(np.int32)
    users = np.repeat(np.arange(n_users), [len(row) for row in rows])
    values = 3 + np.einsum("pk,pk->p", left[users], right[items])
    values = np.clip(values + rng.normal(0, noise, len(values)), 1, 5).astype(np.float32)
    indptr = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
    return UserBlock(indptr, items, values, n_items)


def trained(solver, block, *, factor=0.0, seed=1, threads=1):
    public = Public(block.n_users, block.n_items, low=1, high=5, mu=math.inf)
    plan = solver.plan(public).scaled(factor)
    engine = LocalThreads(block, threads=threads, ratings_per_block=200)
    return solver.fit(DataCurator(engine, public, plan, SeededSource(seed)))


def rmse(fold, block):
    return float(np.sqrt(np.mean((fold.predict(block, block) - block.values) ** 2)))


# --- against a plain implementation --------------------------------------------------------------


def dense_als(M, known, V, ridge, steps, unobserved=0.0):
    """Alternating least squares with loops over users and items, in the notation of the paper."""
    m, r = V.shape
    for _ in range(steps):
        U = np.zeros((len(M), r))
        for i in range(len(M)):
            own = V[known[i]]
            A = own.T @ own + unobserved * V.T @ V + ridge * np.eye(r)
            U[i] = np.linalg.solve(A, own.T @ M[i, known[i]])
        K = unobserved * U.T @ U
        V = np.zeros((m, r))
        for j in range(m):
            raters = U[known[:, j]]
            A = raters.T @ raters + K + ridge * np.eye(r)
            V[j] = np.linalg.solve(A, raters.T @ M[known[:, j], j])
    return V


@pytest.mark.parametrize("unobserved", [0.0, 0.2])
def test_without_noise_the_loss_is_minimised_as_by_plain_least_squares(rng, unobserved):
    block = block_of(rng)
    M, known = np.zeros((N_USERS, N_ITEMS)), np.zeros((N_USERS, N_ITEMS), bool)
    M[block.user_of_rating(), block.items] = block.values
    known[block.user_of_rating(), block.items] = True
    options = PerItem(
        ridge=0.5, centring="none", sampling="uniform", items_per_user=N_ITEMS, clip=1.25,
        user_bound=6.0, unobserved=unobserved,
    )  # fmt: skip
    fold = trained(ALS(rank=2, steps=200, gram=options), block)
    V = dense_als(M, known, rng.normal(0, 1, (N_ITEMS, 2)), 0.5, 200, unobserved)
    plain = fold.predict(block, block)
    again = type(fold)(V.astype(np.float32), fold.centring, ridge=0.5, unobserved=unobserved)
    np.testing.assert_allclose(plain, again.predict(block, block), atol=0.01)
    assert np.std(plain) > 0.3


def test_without_noise_both_grams_lead_to_the_same_likelihood(rng):
    block = block_of(rng)
    shared, own = (
        trained(ALS(rank=3, steps=300, averaging=1.0, gram=gram, chance_share=0), block)
        for gram in ("shared", "per-item")
    )
    gap = shared.predict(block, block) - own.predict(block, block)
    assert np.sqrt(np.mean(gap**2)) < 0.02
    assert rmse(own, block) < 0.6 * np.std(block.values)


def test_a_gram_of_ones_own_gets_there_in_fewer_steps(rng):
    block = block_of(rng, noise=0.01)
    early = [
        rmse(trained(ALS(rank=3, steps=4, averaging=1.0, gram=gram), block), block)
        for gram in ("shared", "per-item")
    ]
    assert early[1] < early[0]


# --- every option --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMS))
@pytest.mark.parametrize("mu", [0.5, 30.0, math.inf])
def test_ledger_equals_plan(name, mu):
    public = Public(n_users=5000, n_items=30, low=1, high=5, mu=mu)
    solver = ALS(rank=3, steps=3, gram=FORMS[name])
    plan = calibrate(solver.plan(public), 1.0, 1e-6)
    rehearsal = Rehearsal(public, plan)
    fold = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    assert np.all(np.isfinite(fold.item_factors))


@pytest.mark.parametrize("name", sorted(FORMS))
def test_threads_change_nothing_and_noise_does(name, rng):
    block = block_of(rng)
    solver = ALS(rank=2, steps=2, gram=FORMS[name])
    one, many, other = (
        trained(solver, block, factor=0.01, seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 4), (2, 1))
    )
    np.testing.assert_array_equal(one.item_factors, many.item_factors)
    np.testing.assert_array_equal(one.centring.offsets, many.centring.offsets)
    assert not np.array_equal(one.item_factors, other.item_factors)


@pytest.mark.parametrize("name", sorted(set(FORMS) - {"implicit"}))
def test_every_form_learns(name, rng):
    block = block_of(rng)
    fold = trained(ALS(rank=2, steps=8, gram=FORMS[name]), block)
    frequent = fold.item_factors.any(axis=1)[block.items]
    errors = (fold.predict(block, block) - block.values)[frequent]
    assert np.sqrt(np.mean(errors**2)) < 0.8 * np.std(block.values)


def test_without_noise_nothing_is_private(rng):
    public = Public(N_USERS, N_ITEMS, low=1, high=5, mu=math.inf)
    for options in FORMS.values():
        plan = calibrate(ALS(rank=2, gram=options).plan(public), math.inf, 1e-6)
        assert all(release.std == 0 for release in plan.releases)
        assert plan.epsilon(1e-6) == math.inf


def test_nobody_is_there():
    nobody = UserBlock(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 30)
    for options in FORMS.values():
        fold = trained(ALS(rank=2, steps=2, gram=options), nobody)
        assert np.all(np.isfinite(fold.item_factors))


def test_only_frequent_items_get_factors(rng):
    fold = trained(ALS(rank=2, steps=2, gram=PerItem(**PAPER, frequent=0.3)), block_of(rng))
    assert np.count_nonzero(fold.item_factors.any(axis=1)) == math.ceil(0.3 * N_ITEMS)


def test_an_orthonormal_basis_is_one(rng):
    fold = trained(
        ALS(rank=3, steps=3, gram=PerItem(**PAPER, basis="orthonormal")), block_of(rng, rank=3)
    )
    gram = fold.item_factors.T @ fold.item_factors
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-4 * gram.max())
    np.testing.assert_allclose(np.diag(gram), gram[0, 0], rtol=1e-5)


def test_users_divide_by_a_public_number_and_items_by_released_ones(rng):
    options = PerItem(**PAPER, user_power=0.5, usual_ratings=25.0)
    fold = trained(ALS(rank=2, steps=1, gram=options), block_of(rng))
    assert fold.ridge == pytest.approx(0.5 / 25**0.5)
    assert fold.ridge_power == 0.5


@pytest.mark.parametrize("large", [2, 20, 300])
def test_leading_eigenvalues_are_the_largest(rng, large):
    Q = np.linalg.qr(rng.standard_normal((large, large)))[0]
    values = np.concatenate([[9.0, 7.0], np.linspace(-20, 3, large - 2)])
    top, vectors = leading((Q * values) @ Q.T, 2)
    np.testing.assert_allclose(top, [7.0, 9.0])
    np.testing.assert_allclose(np.abs(vectors.T @ Q[:, [1, 0]]), np.eye(2), atol=1e-6)
    assert not leading(np.zeros((large, large)), 1)[0].any()


# --- many small systems --------------------------------------------------------------------------


def test_the_positive_part_is_the_nearest_positive_matrix(rng):
    matrices = rng.standard_normal((40, 6, 6))
    matrices += matrices.transpose(0, 2, 1)
    matrices[:15] = matrices[:15] @ matrices[:15]  # these are positive already
    found = positive_part(matrices.copy())
    np.testing.assert_array_equal(found[:15], matrices[:15])
    values, vectors = np.linalg.eigh(matrices)
    wanted = np.einsum("jab,jb,jcb->jac", vectors, np.maximum(values, 0), vectors)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert np.linalg.eigvalsh(matrices[15:]).min() < -1


def test_items_are_solved_by_themselves(rng):
    n_items, rank = 3000, 20
    triangles = rng.standard_normal((n_items, rank * (rank + 1) // 2))
    sides, ridges = rng.standard_normal((n_items, rank)), rng.uniform(0.5, 2, n_items)

    def work(some):
        return solved(positive_part(symmetric(triangles[some], rank)), ridges[some], sides[some])

    found = by_items(work, n_items, rank)
    for j in (0, 1, 1500, 2999):
        np.testing.assert_array_equal(found[j], work(slice(j, j + 1))[0])
    A = symmetric(triangles[7:8], rank)[0]
    values, vectors = np.linalg.eigh(A)
    side = vectors.T @ sides[7] / (np.maximum(values, 0) + ridges[7])
    np.testing.assert_allclose(found[7], vectors @ side, rtol=1e-3, atol=1e-4)


def test_noise_that_drowns_them_leaves_grams_that_are_alike(rng):
    n = rng.uniform(5, 50, 400)
    C = np.array([[0.8, 0.1], [0.1, 0.3]])
    clean = n[:, None] * C[np.triu_indices(2)] + rng.normal(0, 0.3, (400, 3)) * np.sqrt(n)[:, None]
    same, _ = shrunk_grams(clean, n, 0.0, 2)
    np.testing.assert_allclose(same.of(slice(None)), clean)
    noisy = clean + rng.normal(0, 30.0, clean.shape) * [1, math.sqrt(0.5), 1]  # isometric
    shrunk, moment = shrunk_grams(noisy, n, 30.0, 2)
    np.testing.assert_allclose(moment, C, atol=0.2)
    assert np.mean((shrunk.of(slice(None)) - clean) ** 2) < 0.05 * np.mean((noisy - clean) ** 2)


# --- bad settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ridge": 0.0}, "ridge must be a positive number"),
        ({"sampling": "all"}, "sampling must be one of weights, rarest, uniform"),
        ({"items_per_user": 0}, "items_per_user must be in"),
        ({"weight_power": -0.1}, "weight_power must be at least 0"),
        ({"frequent": 0.0}, "frequent must be above 0"),
        ({"frequent": 1.1}, "frequent must be above 0"),
        ({"centring": "item"}, "centring must be one of"),
        ({"item_power": -1.0}, "item_power must be"),
        ({"user_power": math.nan}, "user_power must be"),
        ({"usual_ratings": 0.0}, "usual_ratings must be"),
        ({"unobserved": -0.1}, "unobserved must be"),
        ({"user_bound": math.inf}, "user_bound must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"projection": "no"}, "projection must be one of"),
        ({"basis": "any"}, "basis must be one of"),
        ({"start": "warm"}, "start must be one of"),
        ({"start_size": 0.0}, "start_size must be"),
        ({"mean_share": 0.0}, "mean_share must be between 0 and 1"),
        ({"count_share": 0.0}, "count_share must be between 0 and 1"),
        ({"gram_part": 1.0}, "gram_part must be between 0 and 1"),
        ({"unobserved_share": 1.0}, "unobserved_share must be between 0 and 1"),
        ({"start_share": -1.0}, "start_share must be between 0 and 1"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        PerItem(**{"ridge": 1.0} | wrong)


def test_options_of_the_loss_need_the_loss():
    with pytest.raises(ValueError, match="centring belongs to the loss that `ridge` starts"):
        PerItem(centring="global")
    with pytest.raises(ValueError, match="gram must be 'shared', 'per-item' or a PerItem"):
        ALS(gram="own")
    greedy = ALS(rank=2, gram=PerItem(**PAPER, mean_share=0.5, count_share=0.5))
    with pytest.raises(ValueError, match="leave nothing for the steps"):
        greedy.plan(Public(100, 10, low=1, high=5, mu=1.0))


@pytest.mark.parametrize("gram", ["per-item", PerItem(ridge=1.0)])
def test_catalogues_that_no_memory_holds_are_refused_before_anything_is_spent(gram):
    """A million items share one Gram matrix."""
    public = Public(n_users=10**6, n_items=10**6, low=1, high=5, mu=1.0)
    with pytest.raises(ValueError, match=r"2211000000 numbers, 16 GiB .*gram='shared'"):
        ALS(rank=66, gram=gram).plan(public)
    assert ALS(rank=66).plan(public).releases
    assert ALS(rank=20, gram=gram).plan(public).releases
