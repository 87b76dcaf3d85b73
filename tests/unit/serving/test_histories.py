# SPDX-License-Identifier: Apache-2.0
"""Every form of a history says the same, and what is wrong with one is said without quoting it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from tacit.data.columns import USUAL_NAMES as USUAL_NAMES_OF_READER
from tacit.serving.columns import USUAL_NAMES, pick

from . import made_up

MODELS = [made_up.explicit(), made_up.explicit(text=False)]


def rows(batch):
    """A batch as columns; users appear in the order of the batch."""
    triples = [(f"u{u}", i, r) for u, one in enumerate(batch) for i, r in one.items()]
    users, items, ratings = zip(*triples, strict=True)
    return {"user": list(users), "item": list(items), "rating": list(ratings)}


def matrix(model, batch):
    where = {item: j for j, item in enumerate(model.item_ids.tolist())}
    entries = [(u, where[i], r) for u, one in enumerate(batch) for i, r in one.items()]
    u, j, r = zip(*entries, strict=True)
    return sparse.coo_array((r, (u, j)), shape=(len(batch), len(where)))


@pytest.mark.parametrize("model", MODELS)
def test_one_user_in_every_form(model):
    mine = made_up.histories(model)[3]
    wanted = model.recommend(mine, 5)
    plain = {"item": list(mine), "rating": list(mine.values())}
    forms = [
        pa.table(plain),
        pd.DataFrame(plain),
        pl.DataFrame(plain),
        pd.DataFrame(plain).rename(columns={"item": "Movie ID", "rating": "stars"}),
        pa.table(plain).set_column(0, "item", pa.array(plain["item"]).dictionary_encode()),
        dict(reversed(mine.items())),
    ]
    for form in forms:
        assert model.recommend(form, 5) == wanted
    row = matrix(model, [mine])
    one_axis = sparse.coo_array((row.data, (row.coords[1],)), shape=(row.shape[1],))
    assert model.recommend(one_axis, 5) == wanted


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_in_every_form(model, tmp_path):
    batch = made_up.histories(model)[1:]
    wanted = [model.recommend(one, 5) for one in batch]
    plain = rows(batch)
    table = pa.table(plain)
    parquet.write_table(table, tmp_path / "ratings.parquet")
    order = np.random.default_rng(3).permutation(len(table))
    forms = [
        batch,
        tuple(batch),
        table,
        pd.DataFrame(plain),
        pl.DataFrame(plain),
        pl.DataFrame(plain).with_columns(pl.col("user").cast(pl.Categorical)),
        matrix(model, batch),
        matrix(model, batch).tocsr(),
        sparse.csc_matrix(matrix(model, batch)),
        tmp_path / "ratings.parquet",
        str(tmp_path / "ratings.parquet"),
    ]
    for form in forms:
        assert list(model.recommend(form, 5)) == wanted
    shuffled = model.recommend(table.take(pa.array(order)), 5)
    assert dict(zip(shuffled.user_ids, shuffled, strict=True)) == {
        f"u{u}": own for u, own in enumerate(wanted)
    }


def test_implicit_feedback_takes_items_alone():
    model = made_up.implicit()
    liked = ["film 7", "film 3", "film 50"]
    wanted = model.recommend(dict.fromkeys(liked, 1.0))
    for form in (liked, set(liked), np.array(liked), pa.table({"item": liked}), [*liked, "film 3"]):
        assert model.recommend(form) == wanted
    for batch in ([liked, liked], [set(liked), dict.fromkeys(liked, 1)]):
        assert list(model.recommend(batch)) == [wanted, wanted]
    assert model.recommend([]) == model.recommend({}) == model.recommend(set())
    with pytest.raises(ValueError, match="without a rating column every row counts 1"):
        model.recommend(dict.fromkeys(liked, 4.0))


def test_an_explicit_model_wants_ratings():
    model = made_up.explicit()
    assert len(model.recommend([])) == 0
    for items in (["film 1"], {"film 1"}, [{"film 1"}]):
        with pytest.raises(ValueError, match="items without ratings say too little"):
            model.recommend(items)
    with pytest.raises(ValueError, match="no rating column"):
        model.recommend(pa.table({"item": ["film 1"]}))


SECRET = "secret"  # what no message may hold


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        (
            {SECRET: 3.0},
            KeyError,
            "not in this model's catalogue of 60 items.*unknown_items='drop'",
        ),
        ([{"film 1": 3.0}, {SECRET: 3.0}], KeyError, "not in this model's catalogue"),
        ({7: 3.0}, KeyError, "whose ids are strings"),
        ({"film 1": 7.25}, ValueError, "on the model's scale, 1 to 5"),
        ({"film 1": np.nan}, ValueError, "on the model's scale"),
        ({"film 1": SECRET}, ValueError, "ratings must be numbers"),
        ({"film 1": None}, ValueError, "on the model's scale"),
        ({"film 1": 1e300}, ValueError, "on the model's scale"),
        ({"film 1": 10**400}, ValueError, "ratings must be numbers"),
        ([[["film 1"]]], ValueError, "item ids must be strings"),
        (7, TypeError, "a history is a dict"),
        (pa.table({"who": ["a"], "item": [7], "rating": [3]}), ValueError, "item column holds int"),
        (pa.table({"item": ["film 1"], "rating": [SECRET]}), ValueError, "holds string, not numb"),
        (pa.table({"item": ["film 1"], "rating": [None]}), ValueError, "holds null, not numbers"),
        (pa.table({"item": ["film 1"], "rating": pa.array([None], "f4")}), ValueError, "scale"),
        (pa.table({"item": pa.array([None], "str"), "rating": [3]}), KeyError, "catalogue"),
        (pa.table({"thing": ["film 1"], "rating": [3]}), ValueError, "no item column"),
        (pa.table({"item": ["film 1"], "movie": [1], "rating": [3]}), ValueError, "could each be"),
        (
            pa.table({"user": pa.array([None], "str"), "item": ["film 1"], "rating": [3]}),
            ValueError,
            "have no user",
        ),
        (
            pa.table({"item": ["film 1", "film 1"], "rating": [3, 4]}),
            ValueError,
            "rated twice by one user",
        ),
        (pd.DataFrame({"item": ["film 1", 1], "rating": [3, 4]}), ValueError, "several types"),
        (sparse.csr_array((3, 59)), ValueError, "one column for each of this model's 60 items"),
        (sparse.csr_array((60, 3)), ValueError, "transpose it"),
        (sparse.csr_array(np.full((1, 60), 9e99)), ValueError, "scale"),
        (sparse.csr_array(np.ones((1, 60), complex)), ValueError, "real numbers"),
        ("no-such.parquet", FileNotFoundError, "no file 'no-such.parquet'"),
    ],
)
def test_what_is_wrong_is_said_without_being_quoted(known, error, message):
    with pytest.raises(error, match=message) as raised:
        made_up.explicit().recommend(known)
    for private in (SECRET, "7.25", "u0"):
        assert private not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "ratings.parquet"
    path.write_bytes(b"PAR1 something else")
    with pytest.raises(ValueError, match="not a whole Parquet file"):
        made_up.explicit().recommend(path)


def test_numbers_beyond_all_ids_are_unknown_or_refused():
    model = made_up.explicit(text=False)
    huge = pa.table({"item": pa.array([2**63], pa.uint64()), "rating": [3]})
    with pytest.raises(ValueError, match="beyond 64-bit"):
        model.recommend(huge)


def test_unknown_items_are_dropped_on_request():
    model = made_up.explicit()
    mine = {"film 1": 5.0, "film 9": 2.0}
    wanted = model.recommend(mine, 5)
    assert model.recommend(mine | {"other": 3.0}, 5, unknown_items="drop") == wanted
    table = pa.table({"item": [*mine, "other"], "rating": [5.0, 2.0, 3.0]})
    assert model.recommend(table, 5, unknown_items="drop") == wanted
    with pytest.raises(ValueError, match="'refuse' or 'drop'"):
        model.recommend(mine, unknown_items="ignore")


def test_the_usual_names_are_those_of_the_reader():
    for role, names in USUAL_NAMES.items():
        assert tuple(names.split()) == USUAL_NAMES_OF_READER[role]


def test_columns_may_be_named():
    assert pick(["a", "b", "c"], {"item": "b", "user": "c"}) == {"item": "b", "user": "c"}
    with pytest.raises(ValueError, match="no column 'z' for the item"):
        pick(["a"], {"item": "z"})
    with pytest.raises(ValueError, match="columns= may name user, item, rating"):
        pick(["a"], {"time": "a"})


def test_no_table_library_is_imported_unasked():
    code = (
        "import sys, tacit.model.item_model\n"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'duckdb') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
