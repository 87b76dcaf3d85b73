# SPDX-License-Identifier: Apache-2.0
"""An index finds the items of the highest scores, offsets included, and only of its own model."""

from __future__ import annotations

import math
import sys

import numpy as np
import pyarrow as pa
import pytest

import tacit
import tacit.serving.nearest
from tacit.folding import Centring, FoldIn
from tacit.serving.known import Known
from tacit.serving.nearest import ItemIndexError, NearestItems, equally_long
from tacit.serving.rank import Ranker, rank

pytest.importorskip("usearch")


def folding(items, *, rank=12, spread=0.8, seed=0):
    """Factors as training leaves them: lengths differ by far, and offsets weigh as much."""
    rng = np.random.default_rng(seed)
    lengths = rng.lognormal(-1.0, spread, (items, 1))
    V = rng.standard_normal((items, rank)) * lengths / math.sqrt(rank)
    return FoldIn(V.astype(np.float32), Centring(3.5 + rng.normal(0, 0.4, items)), ridge=0.5)


def histories(items, users=120, *, seed=1):
    rng = np.random.default_rng(seed)
    sizes = [0, 1, *rng.integers(1, 60, users - 3), min(900, items - 1)]
    rows = [np.sort(rng.choice(items, size, replace=False)) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = rng.integers(1, 6, indptr[-1]).astype(np.float32)
    return Known(indptr, np.concatenate(rows).astype(np.int32), values, np.arange(users))


@pytest.fixture(scope="module", params=[0.05, 0.8], ids=["much alike", "a few very long"])
def large(request):
    return folding(20_000, spread=request.param)


@pytest.fixture(scope="module")
def index(large):
    return NearestItems.of(large)


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)])


@pytest.mark.parametrize("seen", ["leave out", "keep"])
def test_the_best_items_are_found(large, index, seen):
    known = histories(20_000)
    exact, scores = rank(large, Ranker.of(large), known, 10, seen)
    found, near = index.rank(large, known, 10, seen)
    assert recall(found, exact) >= 0.98
    same = found == exact
    np.testing.assert_allclose(near[same], scores[same], rtol=1e-5)
    assert np.all(np.diff(near, axis=1) <= 0)
    users = np.repeat(np.arange(known.n_users), np.diff(known.indptr))
    rated = set(zip(users.tolist(), known.items.tolist(), strict=True))
    chosen = {(u, int(j)) for u, row in enumerate(found) for j in row}
    assert seen == "keep" or not rated & chosen


def test_all_in_the_graph_are_equally_long_and_products_are_scores(large):
    vectors, rest, longest = equally_long(large)
    assert np.array_equal(np.sort(np.concatenate([rest, longest])), np.arange(20_000))
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, lengths.max(), rtol=1e-6)
    own = np.linalg.norm(large.item_factors, axis=1)
    assert own[longest].mean() > np.mean(own)
    x = np.linspace(-1, 1, large.rank)
    products = vectors @ [*x, 1.0, 0.0]
    scores = (large.item_factors @ x + large.centring.offsets)[rest]
    np.testing.assert_allclose(products - products[0], scores - scores[0], atol=1e-5)


def test_what_all_items_have_in_common_plays_no_part(large):
    moved = FoldIn(large.item_factors + np.float32(0.5), large.centring, large.ridge)
    for mine, hers in zip(equally_long(moved), equally_long(large), strict=True):
        np.testing.assert_allclose(mine, hers, atol=1e-4)


def test_next_to_a_few_very_long_items_all_others_would_look_alike(monkeypatch):
    monkeypatch.setattr(tacit.serving.nearest, "LONGEST", 0.0)
    fold = folding(20_000)
    known = histories(20_000)
    exact, _ = rank(fold, Ranker.of(fold), known, 10, "keep")
    found, _ = NearestItems.of(fold).rank(fold, known, 10, "keep")
    assert recall(found, exact) < 0.8


def test_what_a_user_gets_does_not_depend_on_the_others(large, index):
    known = histories(20_000, users=30)
    together, scores = index.rank(large, known, 5, "leave out")
    for user in range(known.n_users):
        alone, own = index.rank(large, known.rows(user, user + 1), 5, "leave out")
        np.testing.assert_array_equal(alone[0], together[user])
        np.testing.assert_array_equal(own[0], scores[user])


@pytest.mark.parametrize("offsets", [0.0, 2.5])
def test_small_catalogues_are_found_whole(offsets):
    V = np.random.default_rng(3).standard_normal((7, 2)).astype(np.float32)
    fold = FoldIn(V, Centring(offsets), ridge=1.0)
    known = Known(
        np.array([0, 5, 7]),
        np.array([0, 1, 2, 3, 4, 0, 6], np.int32),
        np.arange(1, 8, dtype=np.float32),
        np.arange(2),
    )
    exact, scores = rank(fold, Ranker.of(fold), known, 10, "leave out")
    found, near = NearestItems.of(fold).rank(fold, known, 10, "leave out")
    np.testing.assert_array_equal(found, exact)
    np.testing.assert_allclose(near, scores, rtol=1e-5)
    assert np.isneginf(near[0, 2:]).all()


@pytest.fixture(scope="module")
def model():
    rows = tacit.datasets.movielens_like(users=300, items=200, ratings=6000)
    return tacit.fit(rows, tacit.ALS(rank=4, steps=2), epsilon=math.inf).model


def test_a_model_exports_and_asks_its_index(model, tmp_path):
    made = model.export_index(tmp_path / "index")
    kept = tacit.NearestItems.load(tmp_path / "index")
    history = {model.item_ids.tolist()[3]: 5.0, model.item_ids.tolist()[50]: 1.0}
    exact = [each.item for each in model.recommend(history, 5)]
    for index in (made, kept):
        assert repr(index) == "NearestItems(items=200)"
        assert [each.item for each in model.recommend(history, 5, candidates=index)] == exact
    table = pa.table({"user": ["a", "b"], "item": model.item_ids[[1, 2]], "rating": [4.0, 2.0]})
    many = model.recommend(table, 3, candidates=kept)
    assert many.user_ids.tolist() == ["a", "b"]
    assert len(many.item_ids) == 6
    model.export_index(tmp_path / "index")  # an index may be replaced


def test_another_model_and_a_damaged_index_are_refused(model, tmp_path):
    index = model.export_index(tmp_path / "index")
    other = folding(200, rank=4)
    with pytest.raises(ItemIndexError, match="is of another model"):
        index.rank(other, histories(200, users=3), 5, "keep")
    graph = tmp_path / "index" / "index.usearch"
    good = graph.read_bytes()
    for damaged in (good[:-1], good[:100] + b"x" + good[101:], b""):
        graph.write_bytes(damaged)
        with pytest.raises(ItemIndexError, match="no whole index"):
            NearestItems.load(tmp_path / "index")
    (tmp_path / "index" / "index.json").write_text("[]")
    for folder in (tmp_path / "index", tmp_path / "absent"):
        with pytest.raises(ItemIndexError, match="no whole index"):
            NearestItems.load(folder)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("mine")
    for place in (tmp_path / "else", tmp_path / "else" / "notes.txt"):
        with pytest.raises(ItemIndexError, match="something other than an index"):
            index.save(place)


def test_without_the_library_it_says_what_to_install(model, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"pip install 'tacit\[ann\]'"):
        model.export_index(tmp_path / "index")
