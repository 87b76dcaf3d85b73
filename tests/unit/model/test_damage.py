# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a model's files, loading gives that very model or a ModelFileError."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from tacit.accounting.release import Release
from tacit.accounting.statement import PrivacyStatement
from tacit.folding import Centring, FoldIn
from tacit.model import file
from tacit.model.file import ModelFileError
from tacit.model.item_model import ItemModel, load


def make_model() -> ItemModel:
    statement = PrivacyStatement.of(
        (Release("offsets.sum", 1.0, 4.0, times=2, size=4),),
        delta=1e-6,
        n_users=1000,
        public=(),
        not_covered=(),
        noise_source="a test",
        relative_error=0.0,
        version="0",
    )
    V = np.random.default_rng(1).normal(0, 0.5, (4, 3)).astype(np.float32)
    folding = FoldIn(V, Centring(np.array([3.0, 3.5, 2.0, 4.0]), 1.0), unobserved=0.2)
    ids = np.array(["ape", "bee", "cat", "dög"], np.object_)
    return ItemModel(ids, folding, (1.0, 5.0), statement, titles=("A", "B", "C", "D"))


MODEL = make_model()


@pytest.fixture(scope="module")
def whole():
    with tempfile.TemporaryDirectory() as folder:
        MODEL.save(Path(folder) / "m")
        yield Path(folder) / "m"


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def loads_this_model_or_none(contents: dict[str, bytes]) -> bool:
    """Loads a folder with these files; true where a model came out, which must be the one saved."""
    folder = Path(tempfile.mkdtemp())
    try:
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        try:
            found = load(folder)
        except ModelFileError:
            return False
        for name in ("item_ids", "item_factors", "item_offsets"):
            np.testing.assert_array_equal(getattr(found, name), getattr(MODEL, name))
        np.testing.assert_array_equal(found.folding.prior, MODEL.folding.prior)
        for name in ("scale", "titles", "statement", "made_by"):
            assert getattr(found, name) == getattr(MODEL, name)
        assert found.folding.ridge == MODEL.folding.ridge
        return True
    finally:
        shutil.rmtree(folder)


def test_the_whole_model_loads(whole):
    assert loads_this_model_or_none(files_of(whole))


@given(data=st.data())
def test_flipped_bytes(whole, data):
    contents = files_of(whole)
    name = data.draw(st.sampled_from(sorted(contents)))
    content = bytearray(contents[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    loaded = loads_this_model_or_none(contents | {name: bytes(content)})
    assert not (loaded and name.startswith("arrays") and content != contents[name])


@given(data=st.data())
def test_truncated_or_extended_files(whole, data):
    contents = files_of(whole)
    name = data.draw(st.sampled_from(sorted(contents)))
    content = contents[name]
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    assert not loads_this_model_or_none(contents | {name: cut})
    assert not loads_this_model_or_none(contents | {name: content + b"x"})


@given(
    junk=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ).map(lambda value: json.dumps(value).encode()),
        st.just(b"[" * 100_000),
        st.just(b'{"format": ' + b"9" * 5000 + b"}"),
    )
)
def test_a_foreign_description(whole, junk):
    assert not loads_this_model_or_none(files_of(whole) | {"model.json": junk})


_JSON = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_JSON = _JSON | st.integers() | st.lists(_JSON, max_size=5) | st.dictionaries(st.text(), _JSON)


@given(data=st.data())
def test_a_foreign_description_with_a_right_checksum(whole, data):
    """Nobody's disk does this; somebody's program may."""
    contents = files_of(whole)
    described = json.loads(contents["model.json"])
    del described["checksum"]
    public = {"titles", "solver", "parameters", "version", "feedback", "scale", "mean_ridge"}
    fold = {"ridge", "ridge_power", "unobserved", "item_ids", "statement"}
    field = data.draw(st.sampled_from(sorted(set(described) - public - fold)))
    described[field] = data.draw(_JSON.filter(lambda value: value != described[field]))
    sealed = file.sealed(described).encode()
    assert not loads_this_model_or_none(contents | {"model.json": sealed})


@given(data=st.data())
def test_any_field_of_any_kind_loads_or_is_a_clear_error(whole, data):
    contents = files_of(whole)
    described = json.loads(contents["model.json"])
    field = data.draw(st.sampled_from(sorted(set(described) - {"checksum"})))
    described[field] = data.draw(_JSON)
    with tempfile.TemporaryDirectory() as name:
        for path, content in contents.items():
            (Path(name) / path).write_bytes(content)
        (Path(name) / "model.json").write_text(file.sealed(described))
        with contextlib.suppress(ModelFileError):
            assert isinstance(load(name), ItemModel)


@pytest.mark.parametrize(
    "change",
    [
        {"item_factors": np.ones((4, 3))},
        {"item_factors": np.ones((3, 3), np.float32)},
        {"item_factors": np.ones(4, np.float32)},
        {"item_factors": np.full((4, 3), np.nan, np.float32)},
        {"item_offsets": np.zeros(3)},
        {"item_offsets": np.zeros(())},
        {"item_offsets": np.full(4, np.inf)},
        {"prior": np.ones((2, 2), np.float32)},
        {"prior": np.ones((3, 3), np.float32)},
        {"prior": np.full((3, 3), np.nan, np.float32)},
    ],
)
def test_foreign_arrays(tmp_path, change):
    MODEL.save(tmp_path / "m")
    described, arrays = file.read(tmp_path / "m")
    for name in ("checksum", "sha256", "format"):
        del described[name]
    file.write(tmp_path / "m", described, arrays | change)
    with pytest.raises(ModelFileError, match="incomplete or damaged"):
        load(tmp_path / "m")
    del arrays[next(iter(change))]
    file.write(tmp_path / "m", described, arrays)
    with pytest.raises(ModelFileError, match="incomplete or damaged"):
        load(tmp_path / "m")


def test_arrays_of_another_kind_of_file(tmp_path, monkeypatch):
    MODEL.save(tmp_path / "m")
    described, arrays = file.read(tmp_path / "m")
    for junk in (b"", b"PK\x03\x04 a zip", save(arrays)[:-3]):
        monkeypatch.setattr(file, "save", lambda _, junk=junk: junk)
        file.write(tmp_path / "m", {k: described[k] for k in described if k != "sha256"}, arrays)
        with pytest.raises(ModelFileError, match="is not a safetensors file"):
            load(tmp_path / "m")


@pytest.mark.parametrize("name", ["model.json", "arrays"])
def test_a_folder_in_place_of_a_file(tmp_path, name):
    MODEL.save(tmp_path / "m")
    path = next(path for path in (tmp_path / "m").iterdir() if path.name.startswith(name))
    path.unlink()
    path.mkdir()
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(tmp_path / "m")
