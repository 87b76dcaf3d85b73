# SPDX-License-Identifier: Apache-2.0
"""Frank-Wolfe, SVD and projected gradient descent against dense NumPy, where there is no noise."""

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
from tacit.solvers import SVD, FrankWolfe, ProjectedGradient
from tacit.solvers.cleansing import nearest, without_noise
from tacit.solvers.projected_gradient import shrunk

USERS, ITEMS, LOW, HIGH = 300, 24, -2.0, 2.0


def low_rank(rng, rank=2, rated=0.6, noise=0.0):
    """Ratings of a matrix of this rank, as a block, a dense matrix and a mask."""
    truth = rng.normal(size=(USERS, rank)) @ rng.normal(size=(rank, ITEMS))
    truth *= 0.7 / np.std(truth)
    seen = rng.random(truth.shape) < rated
    ratings = np.clip(truth + noise * rng.normal(size=truth.shape), LOW, HIGH).astype(np.float32)
    block = UserBlock(
        np.concatenate([[0], np.cumsum(seen.sum(axis=1))]).astype(np.int64),
        np.nonzero(seen)[1].astype(np.int32),
        ratings[seen],
        ITEMS,
    )
    return block, np.where(seen, ratings, 0.0).astype(np.float64), seen


def trained(solver, block, *, mu=math.inf, seed=1):
    public = Public(block.n_users, block.n_items, low=LOW, high=HIGH, mu=mu)
    plan = solver.plan(public)
    plan = plan.scaled(0.0 if math.isinf(mu) else plan.mu / mu)
    return solver.fit(DataCurator(LocalThreads(block, threads=1), public, plan, SeededSource(seed)))


def whole(fold, block):
    """Everybody's predictions of every item."""
    rows = np.arange(block.n_users + 1, dtype=np.int64) * ITEMS
    everything = UserBlock(
        rows,
        np.tile(np.arange(ITEMS, dtype=np.int32), block.n_users),
        np.zeros(block.n_users * ITEMS, np.float32),
        ITEMS,
    )
    return fold.predict(block, everything).reshape(block.n_users, ITEMS)


def cut_rows(M, length, over=None):
    """Rows scaled so that the part under the mask is at most so long."""
    norms = np.linalg.norm(M if over is None else M * over, axis=1, keepdims=True)
    return M * np.minimum(1.0, length / np.maximum(norms, 1e-300))


def frank_wolfe(Y_star, seen, T, k, L):
    """Algorithm 1 of 001 on dense matrices, without noise."""
    shortened = cut_rows(Y_star, L)
    Y = np.zeros_like(Y_star)
    v, singular = np.zeros(ITEMS), 1.0
    for _ in range(T):
        A = seen * (Y - shortened)
        u = A @ v / singular
        Y = cut_rows((1 - 1 / T) * Y - (k / T) * np.outer(u, v), L, seen)
        A = seen * (Y - shortened)
        _, s, vh = np.linalg.svd(A)
        v, singular = vh[0], s[0]
    lost = np.linalg.norm(Y_star, axis=1) / np.linalg.norm(shortened, axis=1)
    return Y * lost[:, None]


@pytest.mark.parametrize("row_bound", [0.4, 5.0])
@pytest.mark.parametrize("steps", [2, 7])
def test_frank_wolfe_without_noise_is_algorithm_1(rng, steps, row_bound):
    """Every user's predictions are the local output Y_i, also where rows are shortened."""
    block, Y_star, seen = low_rank(rng)
    solver = FrankWolfe(
        steps=steps, row_bound=row_bound, residual_bound=2.0, offset_share=0.0, direction="dense"
    )
    L = row_bound * (HIGH - LOW)
    k = solver.nuclear_norm * L * math.sqrt(USERS)
    wanted = frank_wolfe(Y_star, seen, steps, k, L)
    np.testing.assert_allclose(whole(trained(solver, block), block), wanted, atol=2e-3)


def test_frank_wolfe_finds_what_nuclear_norm_allows(rng):
    """More steps come nearer to the ratings, and nothing leaves the ball of nuclear norm k."""
    block, Y_star, seen = low_rank(rng)
    errors = []
    for steps in (3, 10, 40):
        solver = FrankWolfe(steps=steps, row_bound=3.0, offset_share=0.0, nuclear_norm=0.3)
        Y = whole(trained(solver, block), block)
        errors.append(float(np.sqrt(np.mean((Y - Y_star)[seen] ** 2))))
        k = 0.3 * 3.0 * (HIGH - LOW) * math.sqrt(USERS)
        assert np.linalg.svd(Y, compute_uv=False).sum() <= k * (1 + 1e-6)
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("mu", [math.inf, 1e6])
def test_dense_and_oja_agree_within_a_hundredth(rng, mu):
    """Of the RMSE on what was not rated, where noise is small. Oja pays for it several times."""
    block, _, seen = low_rank(rng, noise=0.3)
    _, ratings, _ = low_rank(np.random.default_rng(20260801), rated=1.0, noise=0.3)
    errors = {}
    for direction in ("dense", "oja"):
        solver = FrankWolfe(
            steps=6, row_bound=1.5, offset_share=0.0, direction=direction, oja_steps=30,
            alignment=1.0,
        )  # fmt: skip
        Y = whole(trained(solver, block, mu=mu), block)
        errors[direction] = float(np.sqrt(np.mean((Y - ratings)[~seen] ** 2)))
    assert errors["oja"] == pytest.approx(errors["dense"], rel=0.01)
    assert errors["dense"] < 0.9 * float(np.sqrt(np.mean(ratings[~seen] ** 2)))


def test_oja_starts_on_the_sphere_and_asks_as_often_as_it_says(rng):
    public = Public(1000, 50, low=1, high=5, mu=1.0)
    solver = FrankWolfe(steps=4, direction="oja", oja_steps=3, offset_share=0.0)
    rehearsal = Rehearsal(public, calibrate(solver.plan(public), 1.0, 1e-6))
    solver.fit(rehearsal)
    times = {release.name: release.times for release in rehearsal.ledger.releases}
    assert times == {"first.product": 3, "first.energy": 1, "steps.product": 6, "steps.energy": 2}


def test_every_direction_of_a_plan_costs_what_the_paper_should_have_charged():
    """Sigma = 4 L^2 sqrt(T) / mu for T releases on rows of up to 2 L; the first is on rows of L."""
    public = Public(1000, 50, low=0, high=1, mu=0.5)
    solver = FrankWolfe(steps=6, row_bound=1.0, residual_bound=2.0, offset_share=0.0)
    plan = solver.plan(public)
    plan = plan.scaled(plan.mu / public.mu)
    assert plan["steps.covariance"].l2 == 4.0
    assert plan["first.covariance"].l2 == 1.0
    assert plan["steps.covariance"].std == pytest.approx(4 * math.sqrt(5 / 0.95) / 0.5)
    assert plan["first.covariance"].std == pytest.approx(1 * math.sqrt(5 / 0.95) / 0.5)


def test_five_products_of_rows_cut_along_them_are_as_noisy_as_the_dense_matrix():
    public = Public(1000, 50, low=0, high=1, mu=0.5)
    noise = {}
    for direction in ("dense", "oja"):
        solver = FrankWolfe(steps=6, direction=direction)
        plan = solver.plan(public)
        top = solver._top("steps", public)
        noise[direction] = top.noise_of_product(plan.scaled(plan.mu / public.mu))
    assert noise["oja"] == pytest.approx(noise["dense"])


def test_rows_are_cut_along_a_direction_only_where_there_is_noise():
    solver = FrankWolfe(direction="oja")
    private, exact = (Public(1000, 50, low=0, high=1, mu=mu) for mu in (0.5, math.inf))
    assert solver.plan(private)["steps.product"].l2 == pytest.approx(math.sqrt(0.1))
    assert solver.plan(exact)["steps.product"].l2 == 1.0


def test_a_large_catalogue_is_sent_to_oja():
    public = Public(10**5, 10_677, low=1, high=5, mu=1.0)
    for solver in (FrankWolfe(direction="dense"), SVD(method="local-projection")):
        with pytest.raises(ValueError, match=r"4000 items are the most.*direction='oja'"):
            solver.plan(public)
    with pytest.raises(ValueError, match="4000 items are the most, there are 10677"):
        ProjectedGradient().plan(public)
    sizes = {release.size for release in FrankWolfe().plan(public).releases}
    assert max(sizes) == public.n_items


@pytest.mark.parametrize("direction", ["dense", "oja"])
def test_svd_without_noise_projects_on_the_top_subspace(rng, direction):
    block, Y_star, seen = low_rank(rng)
    solver = SVD(
        method="local-projection", rank=2, row_bound=10.0, ridge=3.0, offset_share=0.0,
        direction=direction, oja_steps=60,
    )  # fmt: skip
    vh = np.linalg.svd(Y_star)[2][:2]
    scale = ITEMS / (np.maximum(seen.sum(axis=1), 1) + 3.0)
    wanted = scale[:, None] * (Y_star @ vh.T @ vh)
    np.testing.assert_allclose(whole(trained(solver, block), block), wanted, atol=5e-3)


def test_mcsherry_mironov_without_noise_is_the_weighted_covariance(rng):
    """Cov / Wgt with weights 1 / ratings, its top eigenvectors, and least squares of each user."""
    block, Y_star, seen = low_rank(rng, noise=0.5)
    fold = trained(SVD(rank=3, row_bound=1.0, offset_share=0.0), block)
    w = 1 / np.maximum(seen.sum(axis=1), 1)
    C = ((Y_star.T * w) @ Y_star) / ((seen.T * w) @ seen)
    values, vectors = np.linalg.eigh(C)
    wanted = (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T
    V = fold.item_factors.astype(float)
    np.testing.assert_allclose(V @ V.T, wanted, atol=2e-3)
    assert fold.ridge == pytest.approx(np.mean(np.diag(C)) - np.mean(np.diag(wanted)), abs=2e-3)


def test_neighbours_without_noise_are_those_of_largest_covariance(rng):
    block, Y_star, seen = low_rank(rng, noise=0.2)
    fold = trained(SVD(method="knn", neighbours=4, row_bound=1.0, offset_share=0.0), block)
    w = 1 / np.maximum(seen.sum(axis=1), 1)
    C = ((Y_star.T * w) @ Y_star) / ((seen.T * w) @ seen)
    np.testing.assert_allclose(fold.item_factors, nearest(C, 4), atol=2e-3)
    assert ((fold.item_factors > 0).sum(axis=1) <= 4).all()
    assert (fold.item_factors.sum(axis=1) <= 1).all()
    assert not np.diag(fold.item_factors).any()


def nuclear_ball(Z, k):
    """The nearest matrix of nuclear norm at most k, by bisection on the threshold."""
    u, s, vh = np.linalg.svd(Z, full_matrices=False)
    low, high = 0.0, s.max()
    if s.sum() <= k:
        return Z
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(s - middle, 0).sum() > k else (low, middle)
    return (u * np.maximum(s - high, 0)) @ vh


@pytest.mark.parametrize("row_bound", [0.6, 5.0])
def test_projected_gradient_without_noise_is_that_of_the_nuclear_norm(rng, row_bound):
    block, Y_star, seen = low_rank(rng, noise=0.3)
    solver = ProjectedGradient(
        steps=4, rank=ITEMS, nuclear_norm=0.4, rate=0.9, row_bound=row_bound, offset_share=0.0
    )
    L = row_bound * (HIGH - LOW)
    k = 0.4 * L * math.sqrt(USERS)
    Y = np.zeros_like(Y_star)
    for _ in range(4):
        Y = nuclear_ball(cut_rows(Y - 0.9 * seen * (Y - Y_star), L), k)
    np.testing.assert_allclose(whole(trained(solver, block), block), Y, atol=2e-3)


def test_shrunk_singular_values_are_the_nearest_of_that_sum():
    s = np.array([0.5, 3.0, 2.0, 0.0])
    np.testing.assert_array_equal(shrunk(s, 10.0), s)
    np.testing.assert_allclose(shrunk(s, 3.0), [0, 2.0, 1.0, 0])
    assert shrunk(s, 0.4).sum() == pytest.approx(0.4)


def test_eigenvalues_lose_what_noise_lent_them(rng):
    n, noise = 400, 0.1
    N = rng.normal(0, noise, (n, n))
    N = np.triu(N) + np.triu(N, 1).T
    signal = np.zeros((n, n))
    signal[0, 0] = 10.0
    values = np.linalg.eigvalsh(signal + N)
    kept = without_noise(values, noise, n)
    assert kept[-1] == pytest.approx(10.0, abs=0.4)
    assert values[-1] > 10.2
    assert np.count_nonzero(kept[:-1] > 1.0) <= 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FrankWolfe(steps=1), "steps must be at least 2"),
        (lambda: FrankWolfe(residual_bound=2.5), "residual_bound must be above 0 and at most 2"),
        (lambda: FrankWolfe(direction="sparse"), "direction must be 'dense' or 'oja'"),
        (lambda: FrankWolfe(failure=0.0), "failure must be"),
        (lambda: FrankWolfe(alignment=0.0), "alignment must be above 0 and at most 1"),
        (lambda: FrankWolfe(offset_share=1.0), "offset_share must be"),
        (lambda: SVD(method="pca"), "method must be"),
        (lambda: SVD(direction="oja"), "goes with method='local-projection'"),
        (lambda: SVD(weight_share=1.0), "weight_share must be"),
        (lambda: SVD(row_bound=0.0), "row_bound must be"),
        (lambda: ProjectedGradient(rank=0), "rank must be at least 1"),
        (lambda: ProjectedGradient(rate=math.inf), "rate must be"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
