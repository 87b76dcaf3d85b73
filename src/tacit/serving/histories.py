# SPDX-License-Identifier: Apache-2.0
"""The forms in which a history may come: a dict, ids, a frame, a matrix, a Parquet file.

No library is imported but the one whose object came in. Messages never quote a history.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.serving.columns import decoded, pick

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from tacit.serving.known import Known, Rules

_FORMS = (
    "a history is a dict {item: rating}, or a table with the columns item and rating; a batch is a "
    "list of dicts, a table that also has a user column, a SciPy matrix with a row for each user, "
    "or the path of a Parquet file"
)


def read(source: Any, rules: Rules) -> Known:
    """One user's ratings, or a batch; ValueError or KeyError say what is wrong with them."""
    if isinstance(source, Mapping | AbstractSet):
        return _known([source], rules, batch=False)
    if isinstance(source, str | Path):
        return _from_parquet(Path(source), rules)
    if hasattr(source, "tocoo"):
        return _from_matrix(source, rules)
    table = _as_table(source)
    if table is not None:
        return from_table(table, rules)
    if isinstance(source, np.ndarray):
        source = source.tolist()
    if isinstance(source, list | tuple):
        return _from_list(source, rules)
    raise TypeError(f"{_FORMS}; this is a {type(source).__name__}")


def _from_list(source: Sequence[Any], rules: Rules) -> Known:
    """A list of ids is one user's, a list of histories a batch."""
    if all(isinstance(one, Mapping | AbstractSet | list | tuple) for one in source) and (
        source or not rules.implicit
    ):
        return _known(source, rules, batch=True)
    return _known([source], rules, batch=False)


def _known(histories: Sequence[Any], rules: Rules, *, batch: bool) -> Known:
    """From dicts and collections of ids."""
    sizes = [len(one) for one in histories]
    items = [rules.index.positions(one) for one in histories]
    values = [_values(one, rules) for one in histories]
    return rules.known(
        np.repeat(np.arange(len(histories)), sizes),
        np.concatenate([np.empty(0, np.int32), *items]),
        np.concatenate([np.empty(0, np.float32), *values]),
        np.arange(len(histories)) if batch else None,
    )


def _values(history: Mapping[Any, Any] | Collection[Any], rules: Rules) -> NDArray[np.float32]:
    """The ratings of one history; with implicit feedback items alone will do."""
    if isinstance(history, Mapping):
        try:
            with np.errstate(over="ignore"):
                return np.fromiter(history.values(), np.float32, len(history))
        except (TypeError, ValueError, OverflowError):
            pass  # what the library says quotes a rating
        raise ValueError("ratings must be numbers: {item: rating}")
    if not rules.implicit and len(history):
        raise ValueError(
            "items without ratings say too little to this model: its ratings go from "
            f"{rules.scale[0]:g} to {rules.scale[1]:g}; pass a dict {{item: rating}}"
        )
    return np.full(len(history), rules.alone, np.float32)


def _from_matrix(matrix: Any, rules: Rules) -> Known:
    """A SciPy matrix is a batch, a sparse array of one axis is one user's history."""
    if matrix.shape[-1] != len(rules.index):
        turned = " (it looks turned over: transpose it)" * (matrix.shape[0] == len(rules.index))
        raise ValueError(
            f"a matrix needs one column for each of this model's {len(rules.index)} items, "
            f"this one has {matrix.shape[-1]} columns{turned}"
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError("the matrix holds something else than real numbers")
    if matrix.ndim == 1:
        entries = matrix.tocoo()
        users, items, values = np.zeros(entries.nnz, np.int64), entries.coords[0], entries.data
        user_ids = None
    else:
        rows = matrix.tocsr()
        users = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        items, values, user_ids = rows.indices, rows.data, np.arange(rows.shape[0])
    with np.errstate(over="ignore"):
        ratings = values.astype(np.float32)
    return rules.known(users, items.astype(np.int32), ratings, user_ids)


def _as_table(source: Any) -> Any:
    """The source as an Arrow table, None if it is none."""
    is_pandas = type(source).__module__.partition(".")[0] == "pandas"
    if not (is_pandas and hasattr(source, "columns")) and not hasattr(source, "__arrow_c_stream__"):
        return None
    import pyarrow as pa  # noqa: PLC0415 (most users never bring a table)

    try:
        if is_pandas:
            return pa.Table.from_pandas(source, preserve_index=False)
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        pass  # what the library says quotes a value
    raise ValueError("a column of the table holds values of several types; make them of one type")


def _from_parquet(path: Path, rules: Rules) -> Known:
    """A whole file; `recommend_file` streams those that are too large."""
    import pyarrow as pa  # noqa: PLC0415 (most users never bring a table)
    from pyarrow import parquet  # noqa: PLC0415

    try:
        columns = list(pick(parquet.read_schema(path).names).values())
        table = parquet.read_table(path, columns=columns)
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {str(path)!r}; {_FORMS}") from None
    except (pa.ArrowException, OSError):
        table = None  # what the library says may quote the file
    if table is None:
        raise ValueError(f"{str(path)!r} is not a whole Parquet file")
    return from_table(table, rules)


def from_table(table: Any, rules: Rules, columns: Mapping[str, str] | None = None) -> Known:
    """An Arrow table: with a user column a batch, in the order in which users first appear."""
    chosen = pick(table.column_names, columns)
    items = rules.index.positions_in_column(table[chosen["item"]])
    if "rating" in chosen:
        values = _ratings(table[chosen["rating"]])
    elif rules.implicit:
        values = np.full(len(table), rules.alone, np.float32)
    else:
        raise ValueError("no rating column: call the columns user, item and rating")
    if "user" not in chosen:
        return rules.known(np.zeros(len(table), np.int64), items, values, None)
    users, user_ids = _users(table[chosen["user"]])
    return rules.known(users, items, values, user_ids)


def _ratings(column: Any) -> NDArray[np.float32]:
    """An Arrow column of numbers; a missing one becomes NaN, which no scale holds."""
    import pyarrow as pa  # noqa: PLC0415 (most users never bring a table)

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ValueError(f"the rating column holds {kind}, not numbers")
    return np.asarray(column.cast(pa.float32(), safe=False), np.float32)


def _users(column: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """For each row the position of its user, and the different users."""
    if column.null_count:
        raise ValueError("some rows have no user; remove them")
    encoded = decoded(column).combine_chunks().dictionary_encode()
    ids = encoded.dictionary.to_numpy(zero_copy_only=False)
    return np.asarray(encoded.indices, np.int64), ids


def positions_of(items: Iterable[Any], rules: Rules, what: str) -> NDArray[np.int32]:
    """Positions of items that somebody asks about."""
    if isinstance(items, str):
        raise TypeError(f"{what} must be a list of item ids, not one string")
    return rules.index.require(rules.index.positions(items), what)
