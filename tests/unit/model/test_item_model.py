# SPDX-License-Identifier: Apache-2.0
"""The artefact: recommends, keeps all it knows through a file, refuses what it cannot answer."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from tacit.accounting.release import Release
from tacit.accounting.statement import PrivacyStatement
from tacit.folding import Centring, FoldIn
from tacit.model import file
from tacit.model.file import ModelFileError
from tacit.model.item_model import ItemModel, load
from tacit.model.made_by import MadeBy
from tacit.solvers.item_offsets import ItemOffsets

IDS = np.array(["ape", "bee", "cat", "dog"], np.object_)
OFFSETS = np.array([3.0, 3.5, 2.0, 4.0])


def statement():
    return PrivacyStatement.of(
        (Release("offsets.sum", 1.0, 4.0, times=2, size=4),),
        delta=1e-6,
        n_users=1000,
        public=("item catalogue: 4 items",),
        not_covered=(),
        noise_source="a test",
        relative_error=0.0,
        version="0",
    )


def model(rank=2, ids=IDS):
    V = np.random.default_rng(1).normal(0, 0.5, (4, rank)).astype(np.float32)
    fold_in = FoldIn(V, Centring(OFFSETS, mean_ridge=1.0), ridge=0.5)
    return ItemModel(ids, fold_in, (1.0, 5.0), statement(), titles=("Ape", "Bee", "Cat", "Dög"))


def test_recommends_unrated_items_best_first():
    by_offset = model(rank=0).recommend({"dog": 4.0})
    assert [item for item, _ in by_offset] == ["bee", "ape", "cat"]
    assert [score for _, score in by_offset] == pytest.approx([3.5, 3.0, 2.0])
    assert len(model().recommend({"dog": 5.0}, n=2)) == 2
    assert model().recommend({"ape": 1, "bee": 2, "cat": 3, "dog": 4}) == []


def test_a_user_without_ratings_gets_the_best_items_of_all():
    assert [item for item, _ in model().recommend({}, n=2)] == ["dog", "bee"]


def test_a_users_factor_moves_her_scores():
    liked = dict(model().recommend({"dog": 5.0, "ape": 1.0}))
    disliked = dict(model().recommend({"dog": 1.0, "ape": 5.0}))
    assert liked != disliked


@pytest.mark.parametrize("ids", [IDS, np.array([7, -1, 2**40, 0])])
@pytest.mark.parametrize("rank", [0, 2])
def test_a_file_keeps_everything(tmp_path, ids, rank):
    before = model(rank, ids)
    before.save(tmp_path / "m")
    after = load(tmp_path / "m")
    some = ids.tolist()[1]
    assert after.recommend({some: 4.0}) == before.recommend({some: 4.0})
    assert after.statement == before.statement
    assert after.titles == before.titles
    assert after.scale == before.scale
    assert after.item_ids.tolist() == before.item_ids.tolist()
    np.testing.assert_array_equal(after.item_factors, before.item_factors)


def test_unknown_items_and_wild_ratings_are_refused_without_being_quoted():
    with pytest.raises(KeyError, match="are not in this model's catalogue") as error:
        model().recommend({"canary-item": 4.0, "ape": 3.0})
    assert "canary-item" not in str(error.value)
    for wild in (5.125, 0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="on the model's scale, 1 to 5") as error:
            model().recommend({"ape": wild})
        assert "5.125" not in str(error.value)


def test_the_repr_says_what_it_is():
    assert repr(model()).startswith("ItemModel(items=4, rank=2, epsilon=")


@pytest.mark.parametrize(
    "change",
    [
        {"item_ids": []},
        {"item_ids": ["ape"]},
        {"scale": [1]},
        {"statement": "{}"},
        {"ridge": -1},
        {"mean_ridge": "many"},
        {"item_ids": ["ape", "ape", "cat", "dog"]},
        {"item_ids": [1, 2, 3, True]},
        {"item_ids": "ape"},
        {"titles": ["Ape"]},
        {"titles": [1, 2, 3, 4]},
        {"scale": [5, 1]},
        {"scale": ["1", "5"]},
        {"parameters": 7},
        {"solver": None},
    ],
)
def test_a_damaged_description_is_a_clear_error(tmp_path, change):
    model().save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    changed = json.loads(path.read_text()) | change
    path.write_text(json.dumps(changed))
    with pytest.raises(ModelFileError, match="was changed by hand"):
        load(tmp_path / "m")
    path.write_text(file.sealed(changed))
    with pytest.raises(ModelFileError, match="incomplete or damaged"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    "field", ["item_ids", "titles", "scale", "statement", "ridge", "solver", "parameters"]
)
def test_a_missing_field_is_a_clear_error(tmp_path, field):
    model().save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    described = json.loads(path.read_text())
    del described[field]
    path.write_text(file.sealed(described))
    with pytest.raises(ModelFileError, match="incomplete or damaged"):
        load(tmp_path / "m")


def test_the_file_says_how_the_model_was_made(tmp_path):
    before = dataclasses.replace(model(), made_by=MadeBy.of(ItemOffsets(mean_ridge=math.inf), "7"))
    before.save(tmp_path / "m")
    described = json.loads((tmp_path / "m" / "model.json").read_text())
    assert described["solver"] == "ItemOffsets"
    assert described["parameters"]["steps"] == ItemOffsets().steps
    assert described["parameters"]["mean_ridge"] == "infinity"
    assert described["version"] == "7"
    assert described["feedback"] == "explicit"
    assert described["titles"] == ["Ape", "Bee", "Cat", "Dög"]
    assert load(tmp_path / "m").made_by == before.made_by


@pytest.mark.parametrize("change", [np.float32(1.0), None])
def test_the_prior_is_kept_to_the_last_bit_and_belongs_to_its_factors(tmp_path, change):
    folding = dataclasses.replace(model().folding, unobserved=0.3)
    nearly = np.nextafter(folding.prior, np.float32(np.inf))
    strange = nearly if change is None else folding.prior + change
    if change is not None:
        with pytest.raises(ValueError, match="does not belong"):
            folding.with_prior(strange)
        strange = folding.prior
    before = dataclasses.replace(model(), folding=folding.with_prior(strange))
    before.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").folding.prior, strange)


def test_parameters_of_every_kind_can_be_written(tmp_path):
    @dataclasses.dataclass(frozen=True)
    class Solver:
        weights: tuple = (1, 2.5, -math.inf)
        start: object = np.float32
        inner: object = ItemOffsets()
        name: str | None = None

    before = dataclasses.replace(model(), made_by=MadeBy.of(Solver(), "1"))
    before.save(tmp_path / "m")
    parameters = load(tmp_path / "m").made_by.parameters
    assert parameters["weights"] == [1, 2.5, "-inf"]
    assert parameters["start"] == "type"
    assert parameters["inner"]["steps"] == ItemOffsets().steps
    assert parameters["name"] is None


def test_what_does_not_fit_together_is_no_model():
    whole = model()
    for change, message in (
        ({"item_ids": IDS[:3]}, "differ in length"),
        ({"titles": ("Ape",)}, "one title for each item"),
        ({"scale": (5.0, 1.0)}, "low < high"),
        ({"item_ids": np.array(["ape", "ape", "cat", "dog"], np.object_)}, "different"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(whole, **change)


def test_an_item_has_a_title():
    assert model().title("dog") == "Dög"
    assert dataclasses.replace(model(), titles=None).title("dog") == "dog"
    with pytest.raises(KeyError, match="not in this model's catalogue"):
        model().title("canary")
