# SPDX-License-Identifier: Apache-2.0
"""A folder with arrays (safetensors) and the rest (JSON): no pickle, no user rows, all or nothing.

    model.json                   version, catalogue, scale, fold-in, statement, name of the arrays
    arrays-<sha256>.safetensors  item factors and offsets

The arrays are written first under the name of their checksum; replacing `model.json` is the one
atomic step, so a kill at any moment leaves the old model or the new one. `model.json` holds the
checksum of its own content as well, so that no flipped bit goes unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.numpy import load, save

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FORMAT = 3
_JSON = "model.json"
_SHA256 = re.compile("[0-9a-f]{64}")


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
    text = sealed({"format": FORMAT, "sha256": checksum} | description)
    _replace(_arrays_file(folder, checksum), packed)
    _replace(folder / _JSON, text.encode())
    for old in folder.glob("arrays-*.safetensors"):
        if old != _arrays_file(folder, checksum):
            old.unlink(missing_ok=True)


def sealed(description: dict[str, Any]) -> str:
    """The description as JSON, with the checksum of its content."""
    described = description | {"checksum": _checksum(description)}
    return json.dumps(described, indent=1, allow_nan=False, ensure_ascii=False)


def _checksum(description: dict[str, Any]) -> str:
    """SHA-256 of everything but the checksum, however the JSON is laid out."""
    content = {name: value for name, value in description.items() if name != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _arrays_file(folder: Path, checksum: str) -> Path:
    return folder / f"arrays-{checksum[:16]}.safetensors"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path`, which takes its place, whole and on disk, if all goes well."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    os.close(handle)
    new = Path(name)
    try:
        yield new
        with new.open("rb+") as written:
            os.fsync(written.fileno())
        new.chmod(0o644)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _replace(path: Path, content: bytes) -> None:
    with replacing(path) as new:
        new.write_bytes(content)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write` wrote, or a ModelFileError that says what is wrong with it."""
    described = _read_description(folder)
    arrays = _arrays_file(folder, described["sha256"])
    try:
        packed = arrays.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{arrays} cannot be read: {error.strerror}") from None
    if hashlib.sha256(packed).hexdigest() != described["sha256"]:
        raise ModelFileError(f"{arrays} does not match its checksum: it is damaged")
    try:
        return described, load(packed)
    except Exception as error:  # noqa: BLE001 (a foreign file may break the parser in any way)
        kind = type(error).__name__
    raise ModelFileError(f"{arrays} is not a safetensors file ({kind})")


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / _JSON
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{folder}: no tacit model here, {_JSON} is missing") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not JSON: it is damaged or foreign") from None
    if not isinstance(described, dict) or "format" not in described:
        raise ModelFileError(f"{path} does not describe a tacit model")
    if described["format"] != FORMAT or isinstance(described["format"], bool):
        raise ModelFileError(
            f"{folder}: model format {str(described['format'])[:20]}, this version reads {FORMAT}; "
            "update tacit, or save the model again with this version"
        )
    if described.get("checksum") != _checksum(described):
        raise ModelFileError(
            f"{path} does not match its checksum: it is damaged or was changed by hand"
        )
    if not _SHA256.fullmatch(str(described.get("sha256"))):
        raise ModelFileError(f"{path} does not say which arrays belong to it")
    return described
