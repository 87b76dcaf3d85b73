# SPDX-License-Identifier: Apache-2.0
"""A folder with arrays (safetensors) and the rest (JSON): no pickle, no user rows, all or nothing.

    model.json                   version, catalogue, scale, fold-in, statement, name of the arrays
    arrays-<sha256>.safetensors  item factors and offsets

The arrays are written first under the name of their checksum; replacing `model.json` is the one
atomic step, so a kill at any moment leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.numpy import load, save

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 1
_JSON = "model.json"


class ModelFileError(ValueError):
    """The folder holds no tacit model, or a damaged one."""


def write(folder: Path, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Save into `folder`, which is new, empty or a tacit model to be replaced."""
    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is saved into a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _JSON).is_file():
        raise ModelFileError(f"{folder} holds something other than a model; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    packed = save(arrays)
    checksum = hashlib.sha256(packed).hexdigest()
    described = {"format": FORMAT, "sha256": checksum} | description
    text = json.dumps(described, indent=1, allow_nan=False, ensure_ascii=False)
    _replace(_arrays_file(folder, checksum), packed)
    _replace(folder / _JSON, text.encode())
    for old in folder.glob("arrays-*.safetensors"):
        if old != _arrays_file(folder, checksum):
            old.unlink(missing_ok=True)


def _arrays_file(folder: Path, checksum: str) -> Path:
    return folder / f"arrays-{checksum[:16]}.safetensors"


def _replace(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step, on disk before it is visible."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".writing-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write` wrote, or a ModelFileError that says what is wrong with it."""
    described = _read_description(folder)
    arrays = _arrays_file(folder, str(described.get("sha256")))
    try:
        packed = arrays.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{arrays} cannot be read: {error.strerror}") from None
    if hashlib.sha256(packed).hexdigest() != described.get("sha256"):
        raise ModelFileError(f"{arrays} does not match its checksum: it is damaged")
    try:
        return described, load(packed)
    except SafetensorError:
        raise ModelFileError(f"{arrays} is not a safetensors file") from None


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / _JSON
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{folder}: no tacit model here, {_JSON} is missing") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ModelFileError(f"{path} is not JSON: it is damaged or foreign") from None
    if not isinstance(described, dict) or "format" not in described:
        raise ModelFileError(f"{path} does not describe a tacit model")
    if described["format"] != FORMAT:
        raise ModelFileError(
            f"{folder}: model format {described['format']!r}, this version reads {FORMAT}; "
            "update tacit, or save the model again with this version"
        )
    return described
