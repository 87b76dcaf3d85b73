# SPDX-License-Identifier: Apache-2.0
"""`ALS` on implicit feedback: its optimum without noise, its recipe, and what it leaves out."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.evaluation.metrics import ranking_figures
from tacit.evaluation.ranking import best_items
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import SeededSource
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.serving.explain import similarities
from tacit.solvers import ALS, Popularity
from tacit.solvers.averaged_factors import AveragedFactors
from tacit.solvers.factor_shrinkage import shrunk_factors
from tacit.solvers.implicit import Implicit, implicit_of
from tacit.solvers.per_item import PerItem
from tacit.user_steps import SeenProjection

N_USERS, N_ITEMS, GROUPS = 400, 30, 3


def block_of(rng, n_users=N_USERS, n_items=N_ITEMS, values=None):
    """Users of three groups, each with its own favourites among items of unequal popularity."""
    liking = np.linspace(1, 0.3, n_items) * np.where(
        np.arange(n_items) % GROUPS == np.arange(GROUPS)[:, None], 1.0, 0.25
    )
    rows = []
    for user in range(n_users):
        race = rng.standard_exponential(n_items) / liking[user % GROUPS]
        rows.append(np.sort(np.argsort(race)[: rng.integers(4, 11)]))
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.concatenate(rows).astype(np.int32)
    rated = np.ones(len(items)) if values is None else rng.choice(values, len(items))
    return UserBlock(indptr, items, rated.astype(np.float32), n_items)


def trained(solver, block, *, mu=math.inf, seed=1, threads=1):
    public = Public(block.n_users, block.n_items, low=0, high=1, mu=mu)
    plan = solver.plan(public)
    plan = plan.scaled(0.0 if math.isinf(mu) else plan.mu / mu)
    engine = LocalThreads(block, threads=threads, ratings_per_block=200)
    return solver.fit(DataCurator(engine, public, plan, SeededSource(seed)))


def dense(block, amounts):
    rows = np.zeros((block.n_users, block.n_items))
    rows[block.user_of_rating(), block.items] = amounts
    return rows


def everything(n_users, n_items):
    return UserBlock(
        np.arange(n_users + 1, dtype=np.int64) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        np.zeros(n_users * n_items, np.float32),
        n_items,
    )


def in_plain_numbers(block, options):
    """Rows S without norms, their top right singular vectors with values, and item weights."""
    sizes = np.diff(block.indptr)[block.user_of_rating()]
    counts = dense(block, 1 / np.sqrt(sizes)).sum(axis=0)
    weights = (counts / counts.max()) ** -0.4  # the recipe's, where nothing is private
    confidence = np.minimum(1 + options.count_weight * block.values, options.most)
    S = dense(block, confidence * weights[block.items])
    _, values, right = np.linalg.svd(S / np.linalg.norm(S, axis=1, keepdims=True))
    return S, values[:3] ** 2 / len(S), right[:3].T, weights, counts


def predicted(fold, block):
    scores = fold.predict(block, everything(block.n_users, N_ITEMS)).reshape(-1, N_ITEMS)
    return scores - fold.centring.offsets


@pytest.mark.parametrize("options", [Implicit(), Implicit(count_weight=0.3, most=2.0)])
def test_without_noise_it_is_the_truncated_svd_of_all_rows(rng, options):
    """The optimum of least squares over all pairs, which is known."""
    options = dataclasses.replace(options, diagonal="kept")
    block = block_of(rng, values=[1.0, 2.0, 3.0, 9.0])
    fold = trained(ALS(feedback=options, rank=3, steps=60), block)
    S, _, top, weights, _ = in_plain_numbers(block, options)
    expected = S @ top @ top.T / weights
    near = 5e-3 * np.abs(expected).max()
    np.testing.assert_allclose(predicted(fold, block), expected, atol=near)


def test_what_goes_with_itself_is_taken_out_at_the_end(rng):
    """The same subspace, moved by the second moment without the diagonal that counts tell."""
    block = block_of(rng)
    fold = trained(ALS(feedback="implicit", rank=3, steps=60), block)
    S, values, top, weights, counts = in_plain_numbers(block, Implicit())
    own = counts * weights**2
    moved = top * values - own[:, None] / own.sum() * top
    C = top.T @ moved
    Q = np.linalg.eigh(C / np.sqrt(np.outer(values, values)))
    basis = np.linalg.qr(moved / np.sqrt(values) @ Q[1][:, Q[0] > 0])[0]
    expected = S @ basis @ basis.T / weights
    near = 5e-3 * np.abs(expected).max()
    np.testing.assert_allclose(predicted(fold, block), expected, atol=near)


def test_more_factors_than_there_are_do_little_harm(rng):
    """Beyond what goes together an item would predict itself, and nothing else."""
    block, fresh = block_of(rng, n_users=3000), block_of(rng, n_users=300)
    known = np.arange(len(fresh.items)) % 2 == 0

    def recall(rank, diagonal):
        solver = ALS(feedback=Implicit(diagonal=diagonal), rank=rank)
        best = best_items(trained(solver, block), fresh.keep(known), 5)
        return ranking_figures(best, fresh.keep(~known))["recall@5"]

    few, many = (recall(rank, "removed") for rank in (3, 12))
    assert many > few - 0.03
    assert recall(12, "kept") < many - 0.05


def test_ratings_say_nothing_unless_they_are_counted(rng):
    block = block_of(rng, values=[1.0, 4.0, 5.0])
    ones = block.with_values(np.ones(len(block.items), np.float32))
    solver = ALS(feedback="implicit", rank=3)
    np.testing.assert_array_equal(
        trained(solver, block).item_factors, trained(solver, ones).item_factors
    )
    counted = ALS(feedback=Implicit(count_weight=1.0), rank=3)
    assert not np.allclose(
        trained(counted, block).item_factors, trained(counted, ones).item_factors
    )


def test_a_count_is_capped_and_zero_is_not_seen():
    step = SeenProjection(count_weight=0.5, most=3.0)
    items = np.array([[2.0, 1.0], [3.0, 0.5]], np.float32)
    row = UserBlock(np.array([0, 2]), np.array([0, 1], np.int32), np.zeros(2, np.float32), 2)
    targets = np.array([[2.0, 0.0], [100.0, -1.0], [1.0, 1.0]], np.float32)
    amounts = [step.amounts(items, row, each).tolist() for each in targets]
    assert amounts == [[2.0, 0.0], [3.0, 0.0], [1.5, 0.75]]
    assert step.factors(items, row, targets[2]).tolist() == [[1.5 * 2 + 0.75 * 0.5 * 3, 0.0]]


@pytest.mark.parametrize("wrong", [{"count_weight": -1.0}, {"most": 0.5}, {"most": math.inf}])
def test_the_step_refuses(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least"):
        SeenProjection(**wrong)
    with pytest.raises(ValueError, match="weights"):
        SeenProjection().check(np.array([[1.0, -1.0]], np.float32))


@pytest.mark.parametrize("mu", [4.0, math.inf])
def test_it_ranks_better_than_popularity(rng, mu):
    block, fresh = block_of(rng, n_users=3000), block_of(rng, n_users=300)
    known = np.arange(len(fresh.items)) % 2 == 0
    history, target = fresh.keep(known), fresh.keep(~known)

    def recall(solver):
        best = best_items(trained(solver, block, mu=mu), history, 5)
        return ranking_figures(best, target)["recall@5"]

    assert recall(ALS(feedback="implicit")) > recall(Popularity()) + 0.08


def test_strangers_get_what_most_have_seen(rng):
    block = block_of(rng)
    nobody = UserBlock(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 30)
    best = best_items(trained(ALS(feedback="implicit"), block), nobody, 3)
    expected = best_items(trained(Popularity(), block), nobody, 3)
    np.testing.assert_array_equal(best, expected)


def test_threads_change_nothing_and_noise_does(rng):
    block, solver = block_of(rng), ALS(feedback="implicit", steps=3)
    one, many = (trained(solver, block, mu=1.0, threads=threads) for threads in (1, 4))
    np.testing.assert_array_equal(one.item_factors, many.item_factors)
    other = trained(solver, block, mu=1.0, seed=2)
    assert not np.array_equal(one.item_factors, other.item_factors)


@pytest.mark.parametrize(
    "public",
    [
        Public(n_users=100, n_items=40, low=0, high=1, mu=0.3),
        Public(n_users=10**8, n_items=7, low=0, high=100, mu=3.0),
        Public(n_users=2, n_items=1, low=0, high=1, mu=math.inf),
    ],
)
def test_ledger_equals_plan(public):
    solver = ALS(feedback="implicit")
    plan = calibrate(solver.plan(public), 1.0, 1e-6)
    rehearsal = Rehearsal(public, plan)
    fold = solver.fit(rehearsal)
    assert set(rehearsal.ledger.releases) == set(plan.releases)
    assert np.all(np.isfinite(fold.item_factors))
    assert [release.name for release in plan.releases] == ["counts.count", "factors.product"]
    total = sum(release.mu_squared for release in plan.releases)
    shares = [release.mu_squared / total for release in plan.releases]
    assert shares == pytest.approx([0.03, 0.97])


def test_nobody_and_a_single_rating():
    nobody = UserBlock(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 5)
    one = UserBlock(np.array([0, 0, 1]), np.array([3], np.int32), np.float32([1.0]), 5)
    for block in (nobody, one):
        assert np.all(np.isfinite(trained(ALS(feedback="implicit"), block).item_factors))


# --- the recipe ----------------------------------------------------------------------------------


def recipe(als=None, options=None, **changed):
    facts = {"n_users": 5040, "n_items": 3706, "low": 0, "high": 1, "mu": 3.4} | changed
    return (options or Implicit()).recipe(als or ALS(), Public(**facts))


def test_the_recipe_follows_from_public_quantities():
    assert recipe(mu=1.1).rank < recipe().rank < recipe(mu=10.0).rank < recipe(mu=math.inf).rank
    assert recipe(n_users=500).rank < recipe().rank < recipe(n_users=50_000).rank
    assert recipe(n_items=20_000).rank < recipe().rank
    assert recipe(n_items=40).rank == 10
    assert recipe(mu=1e-6).rank == 1
    assert recipe(mu=1e-6).weight_power == 0
    assert 0 < recipe().weight_power < recipe(mu=math.inf).weight_power == 0.4
    assert recipe(mu=math.inf).averaging == 1
    assert recipe().averaging is None


def test_what_is_given_is_taken():
    als = ALS(rank=7, averaging=0.5, factor_bound=0.3)
    h = recipe(als, Implicit(weight_power=0.2))
    assert (h.rank, h.averaging, h.weight_power) == (7, 0.5, 0.2)
    assert h.bound == pytest.approx(0.3 * math.sqrt(7))


def test_feedback_is_what_the_reader_was_told_unless_said():
    declared = Public(10, 10, 0, 1, 1.0, feedback="implicit")
    explicit = dataclasses.replace(declared, feedback="explicit")
    special = Implicit(count_weight=0.1)
    assert implicit_of(ALS(), declared) == Implicit()
    assert implicit_of(ALS(feedback="implicit"), explicit) == Implicit()
    assert implicit_of(ALS(feedback=special), explicit) is special
    assert implicit_of(ALS(), explicit) is None
    assert implicit_of(ALS(feedback="explicit"), declared) is None


def test_gram_matrices_of_items_go_with_the_loss_of_the_papers_only():
    public = Public(10, 10, 0, 1, 1.0)
    loss = PerItem(ridge=0.1, centring="none", unobserved=0.2)
    plain = ALS(gram=loss).plan(public)
    assert ALS(gram=loss, feedback="implicit").plan(public) == plain
    for gram in ("per-item", PerItem(), PerItem(ridge=0.1)):
        with pytest.raises(ValueError, match="gram='shared'"):
            ALS(gram=gram, feedback="implicit").plan(public)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count_weight": -0.1}, "count_weight"),
        ({"most": 0.0}, "most"),
        ({"weight_power": 2.0}, "weight_power"),
        ({"count_share": 1.0}, "count_share"),
        ({"diagonal": "half"}, "diagonal"),
    ],
)
def test_options_are_checked(wrong, message):
    with pytest.raises(ValueError, match=f"{message} must be"):
        Implicit(**wrong)
    with pytest.raises(ValueError, match="feedback must be"):
        ALS(feedback="none of them")


# --- from reading to serving ---------------------------------------------------------------------


def events(rng):
    block = block_of(rng, n_users=60)
    users = [f"u{user}" for user in block.user_of_rating()]
    return pa.table({"user": users, "item": [f"m{item}" for item in block.items]})


@pytest.mark.parametrize("stream", [False, True])
def test_items_alone_are_enough_from_reading_to_serving(rng, tmp_path, stream):
    ratings = tacit.read(events(rng), feedback="implicit", stream=stream)
    assert ratings.scale.feedback == "implicit"
    model = tacit.fit(ratings, epsilon=math.inf).model
    assert isinstance(model.folding.step, SeenProjection)
    assert model.made_by.parameters["feedback"] is None
    model.save(tmp_path / "model")
    loaded = tacit.load(tmp_path / "model")
    assert loaded.feedback == "implicit"
    listed = loaded.recommend(["m0", "m3"], 3)
    assert listed == model.recommend({"m0": 1.0, "m3": 1.0}, 3)
    assert all(item not in {"m0", "m3"} for item, _ in listed)
    assert [item for item, _ in loaded.similar_items("m3", 3)]


def test_a_model_of_counts_takes_items_alone_too(rng):
    table = events(rng)
    counted = table.append_column("plays", pa.array(rng.integers(2, 90, len(table)), pa.float64()))
    ratings = tacit.read(counted, rating="plays", feedback="implicit", scale=(2, 100))
    model = tacit.fit(ratings, ALS(feedback=Implicit(count_weight=0.1)), epsilon=5.0).model
    assert model.feedback == "implicit"
    assert model.recommend(["m0", "m3"], 3) == model.recommend({"m0": 2.0, "m3": 2.0}, 3)


def test_similar_items_do_not_look_at_the_weights(rng):
    fold = trained(ALS(feedback="implicit", rank=3), block_of(rng))
    V = fold.item_factors[:, :-1].astype(np.float64)
    cosine = V[4] @ V[9] / np.linalg.norm(V[4]) / np.linalg.norm(V[9])
    assert similarities(fold, 9)[4] == pytest.approx(cosine)


# --- shrinkage and averaging ---------------------------------------------------------------------


def test_shrinkage_comes_near_the_truth_and_knows_how_near(rng):
    size = rng.uniform(0.1, 2.0, 4000)
    true = rng.standard_normal((4000, 2)) * size[:, None] * [1.0, 0.2]
    noise = np.array([0.25, 0.25])
    noisy = true + rng.standard_normal(true.shape) * np.sqrt(noise)
    mean, _, unknown = shrunk_factors(noisy, noise, size)
    left = np.sum((mean - true) ** 2, axis=0)
    assert np.all(left < 0.9 * np.sum((noisy - true) ** 2, axis=0))
    assert left[1] < 0.2 * 4000 * noise[1]
    np.testing.assert_allclose(unknown, left, rtol=0.1)


def test_without_noise_nothing_is_shrunk_and_nothing_but_noise_is_gone(rng):
    V, size = rng.standard_normal((50, 3)), np.ones(50)
    mean, kept, unknown = shrunk_factors(V, np.zeros(3), size)
    np.testing.assert_array_equal(mean, V)
    assert not unknown.any()
    assert np.all(kept == 1)
    lost, _, _ = shrunk_factors(np.zeros((50, 3)), np.ones(3), size)
    assert not lost.any()


def test_all_steps_count_the_later_the_more(rng):
    """Equal releases: the average is theirs, and its noise falls as the weights t^2 say."""
    size = np.full(60, 1.0)
    V = AveragedFactors.start(size / np.linalg.norm(size), 1, seed=0)
    P = V.posterior.mean * 2.0
    variances = []
    for _ in range(30):
        V = V.after(P, 1e-6, None)
        variances.append(float(V.variance[0] / (V.average[:, 0] @ V.average[:, 0])))
    falling = np.array(variances[5:]) / variances[4]
    assert np.all(np.diff(falling) < 0)
    expected = 9 / 5 / 30 / (9 / 5 / 5)
    assert falling[-1] == pytest.approx(expected, rel=0.35)
