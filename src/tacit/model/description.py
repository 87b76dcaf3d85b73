# SPDX-License-Identifier: Apache-2.0
"""A model as JSON and arrays, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.accounting.statement import PrivacyStatement
from tacit.folding import Centring, FoldIn
from tacit.model.file import ModelFileError
from tacit.model.made_by import MadeBy
from tacit.user_steps import STEPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.model.item_model import ItemModel
    from tacit.user_steps import UserStep

# The user step that has no class of its own: `FoldIn` without a step.
LEAST_SQUARES = "least-squares"

_ARRAYS = {
    "item_factors": (np.float32, 2),
    "item_offsets": (np.float64, 1),
    "prior": (np.float32, 2),
}


def describe(model: ItemModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Everything that a model knows."""
    folding = model.folding
    described: dict[str, Any] = {
        "solver": model.made_by.solver,
        "parameters": model.made_by.parameters,
        "version": model.made_by.version,
        "feedback": model.feedback,
        "scale": model.scale,
        "mean_ridge": repr(folding.centring.mean_ridge),
        "ridge": folding.ridge,
        "ridge_power": folding.ridge_power,
        "unobserved": folding.unobserved,
        "user_step": _step_to_json(folding.step),
        "statement": model.statement.to_json(),
        "item_ids": model.item_ids.tolist(),
        "titles": model.titles,
    }
    arrays = {
        "item_factors": folding.item_factors,
        "item_offsets": model.item_offsets,
        "prior": folding.prior,
    }
    return described, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def fields_of(described: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """What `ItemModel` is made of; any exception means that this is none."""
    for name, (dtype, axes) in _ARRAYS.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != axes:
            raise ValueError(f"{name} must be {axes}-dimensional, of {dtype.__name__}")
    low, high = described["scale"]
    titles = described["titles"]
    folding = FoldIn(
        arrays["item_factors"],
        Centring(arrays["item_offsets"], float(described["mean_ridge"])),
        ridge=_number(described["ridge"]),
        ridge_power=_number(described["ridge_power"]),
        unobserved=_number(described["unobserved"]),
        step=_step_from_json(described["user_step"]),
    )
    return {
        "item_ids": _ids(described["item_ids"]),
        "folding": folding.with_prior(arrays["prior"]),
        "scale": (_number(low), _number(high)),
        "statement": PrivacyStatement.from_json(described["statement"]),
        "titles": None if titles is None else _texts(titles),
        "made_by": MadeBy(
            _text(described["solver"]), dict(described["parameters"]), _text(described["version"])
        ),
    }


def _step_to_json(step: UserStep | None) -> dict[str, Any]:
    """What a user does: its name and its numbers."""
    if step is None:
        return {"kind": LEAST_SQUARES}
    values = {name.name: getattr(step, name.name) for name in fields(step)}  # type: ignore[arg-type]
    return {"kind": step.kind} | values


def _step_from_json(described: dict[str, Any]) -> UserStep | None:
    """The step of that name; one that this version does not know is said to be so."""
    kind = _text(described["kind"])
    if kind == LEAST_SQUARES:
        return None
    if kind not in STEPS:
        raise ModelFileError(
            f"the users of this model take a step that this version does not know, {kind[:40]!r}: "
            "update tacit"
        )
    numbers = {name: _frozen(value) for name, value in described.items() if name != "kind"}
    return STEPS[kind](**numbers)


def _frozen(value: Any) -> Any:
    """A number, or a tuple (of tuples) of numbers."""
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else _number(value)


def _ids(listed: Any) -> NDArray[Any]:
    if isinstance(listed, list) and all(type(one) is int for one in listed):
        return np.array(listed, np.int64)
    return np.array(_texts(listed), np.object_)


def _texts(listed: Any) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise TypeError("a list is wanted")
    return tuple(_text(one) for one in listed)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is wanted")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number is wanted")
    return float(value)
