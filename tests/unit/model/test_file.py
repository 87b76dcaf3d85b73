# SPDX-License-Identifier: Apache-2.0
"""A model folder is all or nothing, and anything else than a model is a clear error."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tacit.model import file
from tacit.model.file import ModelFileError

ARRAYS = {"item_factors": np.ones((3, 2), np.float32), "item_offsets": np.zeros(3)}


@pytest.fixture
def folder(tmp_path):
    file.write(tmp_path / "model", {"scale": [1, 5]}, ARRAYS)
    return tmp_path / "model"


def test_what_is_written_is_read(folder):
    described, arrays = file.read(folder)
    assert described["scale"] == [1, 5]
    assert described["format"] == file.FORMAT
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_a_model_is_replaced_as_a_whole_and_leaves_nothing_behind(folder):
    file.write(folder, {"scale": [0, 1]}, {"item_offsets": np.ones(2)})
    described, arrays = file.read(folder)
    assert described["scale"] == [0, 1]
    assert list(arrays) == ["item_offsets"]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("written", ["arrays", "model.json"])
def test_a_failure_at_any_step_leaves_the_old_model(folder, monkeypatch, written):
    real = file._replace

    def failing(path, content):
        if path.name.startswith(written):
            raise OSError(28, "No space left on device")
        real(path, content)

    monkeypatch.setattr(file, "_replace", failing)
    with pytest.raises(OSError, match="No space left"):
        file.write(folder, {"scale": [0, 1]}, {"item_offsets": np.ones(2)})
    assert file.read(folder)[0]["scale"] == [1, 5]


def test_nothing_is_left_of_a_half_written_file(tmp_path, monkeypatch):
    monkeypatch.setattr(file.os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        file.write(tmp_path / "model", {}, ARRAYS)
    assert list((tmp_path / "model").iterdir()) == []


def test_a_folder_with_other_things_is_not_written_to(tmp_path):
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(ModelFileError, match="something other than a model"):
        file.write(tmp_path, {}, ARRAYS)
    with pytest.raises(ModelFileError, match="is a file"):
        file.write(tmp_path / "thesis.tex", {}, ARRAYS)


def arrays_file(folder):
    return next(folder.glob("arrays-*"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.json").unlink(), "no tacit model here"),
        (lambda f: (f / "model.json").write_text("{"), "is not JSON"),
        (lambda f: (f / "model.json").write_bytes(b"\xff\xfe\x00"), "is not JSON"),
        (lambda f: (f / "model.json").write_text("[1]"), "does not describe a tacit model"),
        (lambda f: arrays_file(f).unlink(), "cannot be read"),
        (lambda f: arrays_file(f).write_bytes(arrays_file(f).read_bytes()[:-1]), "checksum"),
        (lambda f: arrays_file(f).write_bytes(b""), "checksum"),
    ],
)
def test_damage_is_named(folder, damage, message):
    damage(folder)
    with pytest.raises(ModelFileError, match=message):
        file.read(folder)


def test_a_newer_format_asks_for_an_update(folder):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(
        ModelFileError, match=f"model format 99, this version reads {file.FORMAT}; update tacit"
    ):
        file.read(folder)
