# SPDX-License-Identifier: Apache-2.0
"""What every step of a user must do; a new one is tested by standing in the table."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

from tacit.data.block import UserBlock
from tacit.folding import Centring, FoldIn
from tacit.model import file
from tacit.model.file import ModelFileError
from tacit.model.item_model import ItemModel, load
from tacit.user_steps import (
    STEPS,
    FrankWolfeReplay,
    GradientReplay,
    Neighbours,
    Projection,
    SeenProjection,
)

from ..serving.made_up import STATEMENT  # noqa: TID252 - the same model as serving's tests

N_ITEMS, RANK = 40, 6


def orthonormal(rng, rows=N_ITEMS, columns=RANK):
    return np.linalg.qr(rng.standard_normal((rows, columns)))[0].astype(np.float32)


def examples(rng):
    """Of each kind one step with item factors that it is made for."""
    V = [orthonormal(rng) for _ in range(3)]
    turns = [tuple(map(tuple, (V[t].T @ V[t + 1]).tolist())) for t in range(2)]
    kept = (tuple(np.linspace(1, 0.5, RANK).tolist()),) * 3
    pulls = tuple(rng.uniform(0.5, 3.0, RANK).tolist())
    return {
        "frank-wolfe": (FrankWolfeReplay(4.0, 0.9, pulls), orthonormal(rng)),
        "neighbours": (
            Neighbours(N_ITEMS, 3.0),
            rng.uniform(0, 0.1, (N_ITEMS, N_ITEMS)).astype(np.float32),
        ),
        "projected-gradient": (
            GradientReplay(0.8, 6.0, float(RANK), kept, tuple(turns)),
            np.concatenate(V, axis=1),
        ),
        "projection": (Projection(N_ITEMS, 3.0), orthonormal(rng)),
        "seen-projection": (
            SeenProjection(0.3, 1.8),
            np.column_stack([orthonormal(rng), rng.uniform(0.3, 2, N_ITEMS)]).astype(np.float32),
        ),
    }


@pytest.fixture(params=sorted(STEPS))
def fold(request, rng):
    step, V = examples(rng)[request.param]
    return FoldIn(V, Centring(rng.normal(3, 0.3, len(V)), mean_ridge=1.0), step=step)


@pytest.fixture
def block(rng):
    sizes = [0, 1, 2, 17, *rng.integers(0, N_ITEMS, 20)]
    items = [np.sort(rng.permutation(N_ITEMS)[:size]) for size in sizes]
    values = rng.integers(1, 6, sum(sizes)).astype(np.float32)
    indptr = np.cumsum([0, *sizes]).astype(np.int64)
    return UserBlock(indptr, np.concatenate(items).astype(np.int32), values, N_ITEMS)


def each(block):
    for u in range(block.n_users):
        yield block.rows(u, u + 1)


def test_no_step_lacks_an_example(rng):
    for kind, (step, _) in examples(rng).items():
        assert step.kind == kind
        assert type(step) is STEPS[kind]
    assert examples(rng).keys() == STEPS.keys()


def test_nobody_depends_on_company(block, fold):
    together = fold.user_factors(block)
    assert together.dtype == np.float32
    assert together.flags.c_contiguous
    assert together.shape == (block.n_users, fold.rank)
    for u, own in enumerate(each(block)):
        np.testing.assert_array_equal(fold.user_factors(own)[0], together[u])
        some = block.rows(u, min(u + 5, block.n_users))
        np.testing.assert_array_equal(fold.user_factors(some)[0], together[u])


def test_a_user_without_ratings_has_no_factors(block, fold):
    assert not fold.user_factors(block)[0].any()
    assert fold.user_factors(block)[3].any()


def test_influence_times_targets_is_her_factors(block, fold):
    for x, own in zip(fold.user_factors(block), each(block), strict=True):
        targets = fold.centring.targets(own)
        influence = fold.step.influence(fold.item_factors, own, targets)
        assert influence.shape == (fold.rank, len(targets))
        np.testing.assert_allclose(influence @ targets, x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_everything_stays_finite(fold, wild):
    own = UserBlock(
        np.array([0, 3]), np.arange(3, dtype=np.int32), np.float32([wild, 4, wild]), N_ITEMS
    )
    assert np.isfinite(fold.user_factors(own)).all()
    assert np.isfinite(fold.predict(own, own)).all()


def test_it_survives_pickling(block, fold):
    same = pickle.loads(pickle.dumps(fold))
    np.testing.assert_array_equal(same.user_factors(block), fold.user_factors(block))


def model(fold):
    return ItemModel(np.arange(fold.n_items), fold, (1.0, 5.0), STATEMENT)


def known(block, user=3):
    own = block.rows(user, user + 1)
    return dict(zip(own.items.tolist(), own.values.tolist(), strict=True))


def test_a_model_keeps_it_through_its_file(block, fold, tmp_path):
    before = model(fold)
    before.save(tmp_path / "model")
    after = load(tmp_path / "model")
    assert after.folding.step == fold.step
    asked = known(block)
    np.testing.assert_array_equal(
        after.predict(asked, range(N_ITEMS)), before.predict(asked, range(N_ITEMS))
    )


def test_an_explanation_adds_up_to_the_prediction(block, fold):
    made = model(fold)
    explained = made.explain(known(block), 5)
    predicted = made.predict(known(block), [5])[0]
    parts = explained.offset + explained.mean + sum(reason.adds for reason in explained.reasons)
    assert explained.score == pytest.approx(predicted, abs=1e-3)
    assert parts == pytest.approx(predicted, abs=1e-3)


def test_an_unknown_step_is_named(fold, tmp_path):
    model(fold).save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    described = json.loads(path.read_text())
    described["user_step"] = {"kind": "telepathy"}
    del described["checksum"]
    path.write_text(file.sealed(described))
    with pytest.raises(ModelFileError, match="does not know, 'telepathy': update tacit"):
        load(tmp_path / "model")


def test_numbers_of_a_step_are_checked(fold):
    for field in dataclasses.fields(fold.step):
        if isinstance(getattr(fold.step, field.name), float):
            with pytest.raises(ValueError, match=f"{field.name} must be"):
                dataclasses.replace(fold.step, **{field.name: -1.0})


def test_projection_makes_up_for_what_is_not_rated(rng):
    """Of a row in the span of V it finds the row itself, if all or a fair part of it is rated."""
    V = orthonormal(rng)
    x = rng.normal(size=RANK)
    whole = UserBlock(
        np.array([0, N_ITEMS]),
        np.arange(N_ITEMS, dtype=np.int32),
        (V @ x).astype(np.float32),
        N_ITEMS,
    )
    found = FoldIn(V, step=Projection(N_ITEMS, 0.0)).user_factors(whole)[0]
    np.testing.assert_allclose(found, x, atol=1e-5)
    half = whole.keep(np.arange(N_ITEMS) % 2 == 0)
    found = FoldIn(V, step=Projection(N_ITEMS, 0.0)).user_factors(half)[0]
    np.testing.assert_allclose(found, 2 * V[::2].T @ (V[::2] @ x), atol=1e-4)
    shrunk = FoldIn(V, step=Projection(N_ITEMS, 20.0)).user_factors(half)[0]
    np.testing.assert_allclose(shrunk, found / 2, atol=1e-4)


def test_doubling_the_catalogue_changes_nobody(block, fold):
    """What private evaluation does: it lists every item twice, with the same factors."""
    twice = dataclasses.replace(
        fold,
        item_factors=np.concatenate([fold.item_factors, fold.item_factors]),
        centring=Centring(np.tile(fold.centring.offsets, 2), fold.centring.mean_ridge),
    )
    np.testing.assert_allclose(
        twice.predict(block, block), fold.predict(block, block), rtol=1e-5, atol=1e-5
    )
