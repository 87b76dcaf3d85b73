# SPDX-License-Identifier: Apache-2.0
"""Factors, recommendations, predictions, similar items and explanations are what they say."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tacit.data.block import UserBlock
from tacit.serving import rank
from tacit.serving.results import Recommendation, Recommendations

from . import made_up

MODELS = [made_up.explicit(), made_up.explicit(rank=70), made_up.explicit(rank=0)]
MODELS += [made_up.implicit(), made_up.implicit(text=False)]


@pytest.fixture(params=MODELS, ids=repr)
def model(request):
    return request.param


def training_block(model, batch):
    """The same ratings as training holds them: items of each user in the order of the catalogue."""
    where = {item: j for j, item in enumerate(model.item_ids.tolist())}
    rows = [sorted((where[item], rating) for item, rating in one.items()) for one in batch]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = [pair for row in rows for pair in row]
    items = np.array([j for j, _ in flat], np.int32)
    values = np.array([rating for _, rating in flat], np.float32)
    return UserBlock(indptr, items, values, len(where))


@pytest.mark.parametrize("chunk", [1, 3, 512])
def test_folding_in_gives_the_very_bits_of_training(model, monkeypatch, chunk):
    monkeypatch.setattr(rank, "CHUNK", chunk)
    batch = made_up.histories(model)
    block = training_block(model, batch)
    factors = model.folding.user_factors(block)
    means = model.folding.centring.means(block)
    together = model.fold_in(batch)
    np.testing.assert_array_equal(together.factors, factors)
    np.testing.assert_array_equal(together.means, means)
    for u, one in enumerate(batch):
        alone = model.fold_in(one)
        assert alone.factors.tobytes() == factors[u].tobytes()
        assert alone.means == means[u]


def by_hand(model, one, *, seen="leave out", only=None):
    """Every item that may be recommended, best first, by predicted rating."""
    ids = model.item_ids.tolist()
    wanted = [i for i in ids if (seen == "keep" or i not in one) and (only is None or i in only)]
    scores = dict(zip(wanted, model.predict(one, wanted), strict=True))
    return sorted(wanted, key=lambda item: -scores[item]), scores


@pytest.mark.parametrize("seen", ["leave out", "keep"])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_recommendations_are_the_highest_predictions(model, seen, n):
    for one in made_up.histories(model)[:5]:
        order, scores = by_hand(model, one, seen=seen)
        found = model.recommend(one, n, seen=seen)
        assert len(found) == min(n, len(order))
        for (item, score), wanted in zip(found, order, strict=False):
            assert score == pytest.approx(scores[item], abs=1e-5)
            assert scores[item] == pytest.approx(scores[wanted], abs=1e-5)


def test_only_candidates_are_recommended(model):
    ids = model.item_ids.tolist()
    only = [ids[5], ids[40], ids[2], ids[5], ids[17]]
    batch = made_up.histories(model)
    together = model.recommend(batch, 10, candidates=only)
    for u, one in enumerate(batch):
        whole = [pair for pair in model.recommend(one, 1000) if pair.item in only]
        assert model.recommend(one, 10, candidates=only) == whole
        assert together[u] == whole
    assert model.recommend({}, candidates=[]) == []
    assert [len(own) for own in model.recommend(batch, candidates=iter([]))] == [0] * len(batch)
    with pytest.raises(KeyError, match="some of candidates are not in this model's catalogue"):
        model.recommend({}, candidates=["nothing of ours"])
    with pytest.raises(TypeError, match="a list of item ids"):
        model.recommend({}, candidates="film 1")


def test_an_empty_history_gives_the_best_items_of_all():
    model = MODELS[0]
    best = np.argsort(-model.item_offsets, kind="stable")[:4]
    assert [item for item, _ in model.recommend({}, 4)] == model.item_ids[best].tolist()


def test_equal_scores_come_in_catalogue_order():
    model = made_up.implicit(rank=0)
    assert [item for item, _ in model.recommend({"film 1"}, 3)] == ["film 0", "film 2", "film 3"]


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3", None])
def test_n_is_a_whole_number(n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        MODELS[0].recommend({}, n)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        MODELS[0].similar_items("film 1", n)


def test_seen_is_one_of_two_words():
    with pytest.raises(ValueError, match="'leave out' or 'keep'"):
        MODELS[0].recommend({}, seen="filter")


def test_a_batch_is_the_same_as_each_alone(model, monkeypatch):
    monkeypatch.setattr(rank, "CHUNK", 3)
    batch = made_up.histories(model, users=50)
    together = model.recommend(batch, 8)
    assert isinstance(together, Recommendations)
    assert len(together) == 50
    assert list(together) == [model.recommend(one, 8) for one in batch]
    assert together[-1] == together[49]
    assert together[1:3] == [together[1], together[2]]
    with pytest.raises(IndexError):
        together[50]


def test_a_batch_as_a_table():
    titles = tuple(f"Film no. {j}" for j in range(60))
    model = made_up.explicit(titles=titles)
    batch = made_up.histories(model)[:3]
    found = model.recommend(
        pa.table(
            {
                "user": ["ann"] * len(batch[1]) + ["bob"] * len(batch[2]),
                "item": [*batch[1], *batch[2]],
                "rating": [*batch[1].values(), *batch[2].values()],
            }
        ),
        2,
    )
    rows = found.to_arrow().to_pylist()
    assert [row["user"] for row in rows] == ["ann", "ann", "bob", "bob"]
    assert [row["rank"] for row in rows] == [1, 2, 1, 2]
    pairs = [Recommendation(row["item"], row["score"]) for row in rows]
    assert pairs == model.recommend(batch[1], 2) + model.recommend(batch[2], 2)
    assert [row["title"] for row in rows] == [model.title(row["item"]) for row in rows]
    assert found.to_pandas().to_dict("records") == rows
    assert pl.DataFrame(found).to_dicts() == rows
    assert "ann" not in repr(found)


def test_users_to_whom_nothing_is_left_have_no_rows():
    model = made_up.explicit(items=3)
    everything = {"film 0": 1.0, "film 1": 5.0, "film 2": 3.0}
    found = model.recommend([everything, {}, {"film 2": 2.0}], 2)
    assert [len(own) for own in found] == [0, 2, 2]
    assert found.to_arrow()["user"].to_pylist() == [1, 1, 2, 2]


def test_predictions_of_a_batch_are_those_of_each_alone(model):
    batch = made_up.histories(model)
    some = model.item_ids[[3, 50, 3, 0]].tolist()
    together = model.predict(batch, some)
    assert together.shape == (len(batch), 4)
    for u, one in enumerate(batch):
        np.testing.assert_array_equal(together[u], model.predict(one, some))
    assert model.predict(batch, []).shape == (len(batch), 0)
    assert model.predict([{}][:0], some).shape in {(0, 4), (4,)}
    with pytest.raises(KeyError, match="the items asked for"):
        model.predict(batch, ["nothing of ours"])


def test_contributions_add_up_to_the_score(model):
    for one in made_up.histories(model)[:6]:
        for item in model.item_ids[[0, 30, 59]].tolist():
            told = model.explain(one, item)
            parts = told.offset + told.mean + sum(reason.adds for reason in told.reasons)
            assert told.score == pytest.approx(model.predict(one, [item])[0], abs=1e-5)
            assert parts == pytest.approx(told.score, abs=1e-9)
            assert {reason.item: reason.rating for reason in told.reasons} == one
            sizes = [abs(reason.adds) for reason in told.reasons]
            assert sizes == sorted(sizes, reverse=True)


def test_a_rating_moves_the_score_by_what_it_adds():
    """With nothing subtracted the score is linear in each rating; twice it adds twice as much."""
    model = made_up.implicit()
    one = dict.fromkeys(["film 3", "film 8", "film 21"], 1.0)
    told = model.explain(one, "film 40")
    adds = {reason.item: reason.adds for reason in told.reasons}
    without = model.predict(one | {"film 8": 0.0}, ["film 40"])[0]
    assert told.score - without == pytest.approx(adds["film 8"], abs=1e-6)


def test_explanations_are_for_one_user():
    with pytest.raises(ValueError, match="one user, not a batch"):
        MODELS[0].explain([{}], "film 1")


def test_similar_items_point_the_same_way():
    model = made_up.explicit()
    V = model.item_factors.astype(float)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    cosines = V @ V[7]
    found = model.similar_items("film 7", 1000)
    assert len(found) == 59
    assert "film 7" not in dict(found)
    for item, score in found:
        assert score == pytest.approx(cosines[int(item.split()[1])])
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert model.similar_items("film 7", 3) == found[:3]


def test_without_factors_nothing_is_similar():
    with pytest.raises(ValueError, match="rank 0"):
        made_up.explicit(rank=0).similar_items("film 1")
    model = made_up.explicit()
    V = model.item_factors.copy()
    V[[4, 9]] = 0
    model = dataclasses.replace(model, folding=dataclasses.replace(model.folding, item_factors=V))
    assert "film 9" not in dict(model.similar_items("film 1", 100))
    with pytest.raises(ValueError, match="its factors are zero"):
        model.similar_items("film 4")
