# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PD011 (`values` is a field of a block, not of a data frame)
"""No log record, message, repr, warning, output or traceback holds a word of a user.

Canaries are ids and ratings that occur nowhere else. Everything that can be heard while the library
reads, trains, saves, loads, recommends and fails is searched for them.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import logging
import math
import sqlite3
import sys
import traceback
import warnings
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import tacit
from tacit.accounting.calibrate import calibrate
from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.contributions import ItemCounts, ItemSums, Rows
from tacit.engines.local import LocalThreads
from tacit.mechanisms import curator as curator_module
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import NoiseSource
from tacit.model import file
from tacit.solvers import SOLVERS, SVD, FrankWolfe
from tacit.training import Budget, Execution, train

USERS = ("quartz-zebra", "yodel-onyx", "umbra-finch")
UNLISTED = "vortex-plum"  # an item outside the catalogue
RATINGS = (4.876543, 3.141593, 1.234567)
NUMBER = 918273645  # a user's id where ids are integers
WORD = "jigsaw-ember"  # where a number should be
CANARIES = (*USERS, UNLISTED, WORD, str(NUMBER), "4.8765", "3.1415", "1.2345", "9.1827e+08")
CATALOGUE = ["ant", "bee", "cat", "dog", "elk"]
ROWS = [
    (USERS[0], "ant", RATINGS[0]),
    (USERS[0], "bee", RATINGS[1]),
    (USERS[1], "bee", RATINGS[2]),
    (USERS[1], "dog", RATINGS[0]),
    (USERS[2], "cat", RATINGS[1]),
    (USERS[2], UNLISTED, RATINGS[2]),
]
COLUMNS = ("user", "item", "rating")
KEYWORDS = {"items": CATALOGUE, "unknown_items": "drop", "scale": (1, 5)}


# --- listening -----------------------------------------------------------------------------------


class Heard:
    """Everything that is said while a test runs."""

    def __init__(self, caplog, capfd, caught):
        self._told, self._caplog, self._capfd, self._caught = [], caplog, capfd, caught

    def shown(self, *things):
        """What anybody sees who prints these objects, or the classes and parts they have."""
        for thing in things:
            self._told += [repr(thing), str(thing), f"{thing}", repr([thing])]

    def failure(self, kind, call, *arguments, **keywords):
        """The error that a call must raise, with all that is chained to it."""
        with pytest.raises(kind) as caught:
            call(*arguments, **keywords)
        error = caught.value
        self._told += traceback.format_exception(error)
        while error is not None:  # also what `from None` hides from tracebacks
            self._told += [repr(error), str(error), *getattr(error, "__notes__", [])]
            error = error.__cause__ or error.__context__
        return caught.value

    @property
    def records(self):
        return [(r.name, r.levelname, r.getMessage()) for r in self._caplog.records]

    def text(self):
        written = self._capfd.readouterr()
        self._told += [written.out, written.err, self._caplog.text]
        self._told += [str(warning.message) for warning in self._caught]
        self._told += [f"{record.__dict__}" for record in self._caplog.records]
        return "\n".join(self._told)

    def canaries(self):
        text = self.text().casefold()
        return [canary for canary in CANARIES if canary.casefold() in text]


@pytest.fixture
def heard(caplog, capfd):
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(logger, logger.level, logger.propagate, logger.disabled) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate, logger.disabled = True, False
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        yield Heard(caplog, capfd, caught)
    for logger, level, propagate, disabled in before:
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled


@pytest.mark.parametrize("way", ["log", "print", "warning", "error", "hidden", "repr"])
def test_whatever_is_said_is_heard(heard, way):
    def fail(chained):
        try:
            raise KeyError(USERS[0])
        except KeyError as error:
            raise ValueError("oops") from (error if chained else None)

    ways = {
        "log": lambda: logging.getLogger("any.library").debug("read %s", USERS[0]),
        "print": lambda: sys.stderr.write(USERS[0]),
        "warning": lambda: warnings.warn(USERS[0], stacklevel=1),
        "error": lambda: heard.failure(ValueError, fail, chained=True),
        "hidden": lambda: heard.failure(ValueError, fail, chained=False),
        "repr": lambda: heard.shown(USERS[0]),
    }
    assert heard.canaries() == []
    ways[way]()
    assert heard.canaries() == [USERS[0]]


# --- sources -------------------------------------------------------------------------------------


def frame(rows=ROWS):
    return {name: [row[n] for row in rows] for n, name in enumerate(COLUMNS)}


def csv(folder, rows=ROWS, delimiter=","):
    path = folder / "ratings.csv"
    lines = [delimiter.join(COLUMNS), *(delimiter.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path, {}


def parquet(folder, rows=ROWS):
    path = folder / "ratings.parquet"
    pq.write_table(pa.table(frame(rows)), path)
    return path, {}


def sqlite(folder, rows=ROWS):
    path = folder / "ratings.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('CREATE TABLE r ("user" TEXT, item TEXT, rating)')
        connection.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
    return f"sqlite:///{path}", {"query": "SELECT * FROM r"}


def query(folder, rows=ROWS):
    connection = duckdb.connect()
    connection.register("r", pa.table(frame(rows)))
    return connection, {"query": "SELECT * FROM r"}


def matrix(folder):
    users, items = ([0, 0, 1, 1, 2], [0, 1, 1, 3, 2])
    made = scipy.sparse.csr_matrix((RATINGS[:1] * 5, (users, items)), (3, len(CATALOGUE)))
    return made, {"user_axis": "rows", "unknown_items": "refuse"}


def numbered(folder):
    rows = [(NUMBER + USERS.index(user), item, rating) for user, item, rating in ROWS]
    return pa.table(frame(rows)), {}


SOURCES = {
    "csv": csv,
    "tsv": lambda folder: csv(folder, delimiter="\t"),
    "parquet": parquet,
    "arrow": lambda folder: (pa.table(frame()), {}),
    "pandas": lambda folder: (pd.DataFrame(frame()), {}),
    "polars": lambda folder: (pl.DataFrame(frame()), {}),
    "sqlite": sqlite,
    "query": query,
    "matrix": matrix,
    "numbered": numbered,
}


def source(name, folder):
    """A source with its keywords."""
    made, keywords = SOURCES[name](folder)
    return made, KEYWORDS | keywords


def close(made):
    if isinstance(made, duckdb.DuckDBPyConnection):
        made.close()


# --- all goes well -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_from_reading_to_recommending(heard, tmp_path, name):
    made, keywords = source(name, tmp_path)
    ratings = tacit.read(made, **keywords)
    close(made)
    block = ratings.block
    heard.shown(ratings, block, block.rows(0, 1), *block.split(1), ratings.catalogue, ratings.scale)

    journal = tmp_path / "spent.jsonl"
    fit = tacit.fit(ratings, epsilon=2.0, delta=1e-3, journal=journal)
    fit.model.save(tmp_path / "model")
    model = tacit.load(tmp_path / "model")
    known = dict(zip(CATALOGUE, RATINGS, strict=False))
    folded = model.fold_in(known)
    heard.shown(fit, fit.model, fit.statement, fit.statement.to_json(), fit.statement.plain())
    heard.shown(*fit.statement.releases, model, model.folding, folded, model.recommend(known, n=2))
    everyone = model.recommend(pd.DataFrame(frame(ROWS[:-1])), n=1)
    heard.shown(everyone, journal.read_text())
    for path in (tmp_path / "model").iterdir():
        heard.shown(path.name, path.read_bytes())
    assert heard.canaries() == []


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_every_solver_at_work(heard, name):
    ratings = tacit.read(pa.table(frame()), **KEYWORDS)
    told = []
    execution = Execution(threads=2, progress=told.append)
    fit = train(ratings, SOLVERS[name](), Budget(1.0, 1e-3), execution)
    heard.shown(execution, Budget(1.0, 1e-3), SOLVERS[name](), fit.model, told)
    assert told
    assert heard.canaries() == []


def test_rows_left_on_disk(heard, tmp_path):
    kept = tmp_path / "kept"
    tacit.read(pa.table(frame()), keep=kept, **KEYWORDS)
    ratings = tacit.read(kept)
    fit = tacit.fit(ratings, epsilon=2.0, delta=1e-3)
    heard.shown(ratings, ratings.rows, *ratings.rows.shards, fit, fit.model, fit.statement)
    names = [path.name for path in kept.iterdir()]
    heard.shown(names, (kept / "prepared.json").read_text())
    shard = kept / ratings.rows.shards[0].name
    shard.write_bytes(shard.read_bytes()[:-9])
    heard.failure(tacit.DataError, tacit.read, kept)
    heard.failure(RuntimeError, tacit.fit, ratings, epsilon=2.0, delta=1e-3)
    assert heard.canaries() == []


def test_objects_within(heard):
    """Also what a debugger prints along the way, and the dictionaries of objects that have one."""
    ratings = tacit.read(pa.table(frame()), **KEYWORDS)
    engine, noise = LocalThreads(ratings.block), NoiseSource()
    the_curator = curator(engine, noise)
    contribution = ItemCounts(len(CATALOGUE), Rows())
    sums = the_curator.noisy_sum(contribution, "counts")
    heard.shown(engine, noise, the_curator, the_curator.ledger, the_curator.plan, contribution)
    heard.shown(*contribution.parts, sums, the_curator.public, vars(the_curator), vars(engine))
    assert heard.canaries() == []


# --- something is wrong --------------------------------------------------------------------------


def wrong(**changes):
    """The rows with one more, whose fields are these."""
    more = {"user": USERS[0], "item": "cat", "rating": RATINGS[2]} | changes
    return [*ROWS, tuple(more.values())]


WRONG_ROWS = {
    "not finite": wrong(rating=math.nan),
    "infinite": wrong(rating=-math.inf),
    "outside the scale": wrong(rating=float(NUMBER)),
    "twice": wrong(item="ant"),
    "no user": wrong(user=None),
    "no item": wrong(item=None),
    "one user": [row for row in ROWS if row[0] == USERS[0]],
    "none": [],
}


@pytest.mark.parametrize("made_by", [parquet, sqlite, query])
@pytest.mark.parametrize("fault", WRONG_ROWS)
def test_rows_that_are_refused(heard, tmp_path, made_by, fault):
    made, keywords = made_by(tmp_path, WRONG_ROWS[fault])
    heard.failure(tacit.DataError, tacit.read, made, **KEYWORDS | keywords)
    close(made)
    assert heard.canaries() == []


WORDS = [*ROWS, (USERS[0], "cat", WORD)]


@pytest.mark.parametrize("made_by", [csv, sqlite])
def test_a_word_for_a_rating(heard, tmp_path, made_by):
    made, keywords = made_by(tmp_path, WORDS)
    heard.failure(tacit.DataError, tacit.read, made, **KEYWORDS | keywords)
    assert heard.canaries() == []


@pytest.mark.parametrize(
    "keywords",
    [
        {"unknown_items": "refuse"},
        {"scale": (1, 2)},
        {"scale": (1, 2), "out_of_scale": "refuse", "unknown_items": "refuse"},
        {"items": []},
        {"items": [f"{item}s" for item in CATALOGUE]},
        {"duplicates": "last"},
        {"user": "item"},
        {"rating": "user"},
        {"user_axis": "rows"},
        {"query": "SELECT 1"},
    ],
)
def test_questions_that_do_not_fit_the_rows(heard, tmp_path, keywords):
    rows = [*ROWS, (USERS[0], "elk", -RATINGS[0])]
    for made, more in (csv(tmp_path, rows), parquet(tmp_path, rows)):
        heard.failure(tacit.DataError, tacit.read, made, **KEYWORDS | more | keywords)
    assert heard.canaries() == []


@pytest.mark.parametrize("cut", [3, 40, -9])
def test_files_that_break_off(heard, tmp_path, cut):
    path, _ = parquet(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    heard.failure(tacit.DataError, tacit.read, path, **KEYWORDS)
    text, _ = csv(tmp_path)
    text.write_text(text.read_text() + f'{USERS[0]},"{WORD}\n')
    heard.failure(tacit.DataError, tacit.read, text, **KEYWORDS)
    assert heard.canaries() == []


def test_a_query_that_fails_on_a_row(heard, tmp_path):
    made, _ = query(tmp_path)
    cast = 'SELECT CAST("user" AS INTEGER) AS user, item, rating FROM r'
    heard.failure(tacit.DataError, tacit.read, made, query=cast, **KEYWORDS)
    close(made)
    assert heard.canaries() == []


@pytest.fixture
def ratings():
    return tacit.read(pa.table(frame()), **KEYWORDS)


def test_trainings_that_cannot_start(heard, ratings, tmp_path):
    nowhere = tmp_path / "no such folder" / "spent.jsonl"
    for faults in (
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": 1e40},  # noise finer than the grid
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 1.0},
    ):
        heard.failure(ValueError, tacit.fit, ratings, **faults)
    heard.failure(OSError, tacit.fit, ratings, epsilon=1.0, delta=1e-3, journal=nowhere)
    tacit.fit(ratings, epsilon=1.0, delta=0.9)  # warns
    assert heard.canaries() == []


def test_ratings_that_break_a_rule(heard, ratings):
    block = ratings.block
    for changes in (
        {"items": block.items[::-1].copy()},
        {"items": block.items + np.int32(3)},
        {"values": block.values * np.float32(np.inf)},
        {"values": block.values[:-1]},
        {"indptr": block.indptr[:-1]},
    ):
        broken = dataclasses.replace(ratings, rows=dataclasses.replace(block, **changes))
        heard.failure(tacit.DataError, tacit.fit, broken, epsilon=1.0)
    assert heard.canaries() == []


COUNTS = ItemCounts(len(CATALOGUE), Rows())


def curator(engine, source=None, *, std=3.0, n_users=3):
    release = Release("counts.count", 1.0, std, times=2, size=len(CATALOGUE), cone=True)
    public = Public(n_users=n_users, n_items=len(CATALOGUE), low=1, high=5, mu=1.0)
    return DataCurator(engine, public, Plan((release,)), source or NoiseSource())


class Crowd:
    """So many users that a sum might overflow."""

    n_users = 2**48


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Talkative(ItemCounts):
    """A sum that breaks off in the middle and says whose row it was."""

    fault: type[Exception] = ValueError

    def add(self, block, sums):
        sums["count"] += 1
        raise self.fault(f"cannot weigh {block.values.tolist()} of {block.items.tolist()}")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class OutOfCatalogue(ItemCounts):
    """A sum that NumPy refuses, in its own words."""

    def add(self, block, sums):
        sums["count"][(block.values * 1000).astype(np.int64)] += 1


def test_questions_that_the_ledger_refuses(heard, ratings):
    the_curator = curator(LocalThreads(ratings.block, threads=2))
    asked = the_curator.noisy_sum
    heard.failure(tacit.BudgetError, asked, COUNTS, "other")
    heard.failure(tacit.BudgetError, asked, ItemSums(len(CATALOGUE), Rows(), 1.0), "counts")
    heard.failure(tacit.BudgetError, asked, ItemCounts(len(CATALOGUE) + 1, Rows()), "counts")
    for _ in range(2):
        asked(COUNTS, "counts")
    heard.failure(tacit.BudgetError, asked, COUNTS, "counts")
    heard.failure(ValueError, curator(Crowd()).noisy_sum, COUNTS, "counts")
    heard.failure(
        ValueError, curator(LocalThreads(ratings.block), std=1e-9).noisy_sum, COUNTS, "counts"
    )
    assert heard.canaries() == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "contribution",
    [
        Talkative(len(CATALOGUE), Rows()),
        Talkative(len(CATALOGUE), Rows(), MemoryError),
        OutOfCatalogue(len(CATALOGUE), Rows()),
    ],
)
def test_sums_that_break_off_after_they_are_charged(heard, ratings, threads, contribution):
    the_curator = curator(LocalThreads(ratings.block, threads=threads, ratings_per_block=1))
    error = heard.failure(RuntimeError, the_curator.noisy_sum, contribution, "counts")
    assert error.__context__ is None
    assert the_curator.ledger.releases[0].times == 1
    heard.shown(the_curator, the_curator.ledger)
    gc.collect()  # threads that never hand over their error could still print it
    assert heard.canaries() == []


def test_models_that_cannot_answer(heard, ratings, tmp_path):
    model = tacit.fit(ratings, epsilon=1.0, delta=1e-3).model
    rows = pd.DataFrame(frame())
    for history in (
        {UNLISTED: RATINGS[0]},
        {"ant": WORD},
        {"ant": math.nan},
        {"ant": float(NUMBER)},
        {NUMBER: RATINGS[0]},
        rows,
        rows.assign(rating=WORD),
        rows.assign(item=NUMBER),
        rows.drop(columns="item"),
        [(USERS[0], WORD)],
        WORD,
    ):
        heard.failure((ValueError, KeyError, TypeError, OSError), model.recommend, history)
    folder = tmp_path / "model"
    model.save(folder)
    content = json.loads((folder / "model.json").read_text())
    for damage in ({"scale": None}, {"item_ids": [1]}, {"statement": "{}"}, {"format": 10**6}):
        (folder / "model.json").write_text(file.sealed(content | damage))
        heard.failure(tacit.ModelFileError, tacit.load, folder)
    heard.failure(tacit.ModelFileError, tacit.load, tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    heard.failure(tacit.ModelFileError, model.save, tmp_path / "file")
    said = [canary for canary in heard.canaries() if canary != WORD]  # WORD was a file name
    assert said == []


# --- one user more or less -----------------------------------------------------------------------


def neighbours():
    """Two data sets of the same users, items and scale; in the second one user's row is empty."""
    rng = np.random.default_rng(12)
    n_users, n_items = 40, 25
    rated = rng.random((n_users, n_items)) < 0.4
    values = np.where(rated, rng.integers(1, 6, (n_users, n_items)), 0).astype(float)
    values[0] = 5.0  # she rated everything
    without = values.copy()
    without[0] = 0.0
    keywords = {"user_axis": "rows", "scale": (1, 5), "items": [f"item {j}" for j in range(25)]}
    return [tacit.read(scipy.sparse.csr_matrix(v), **keywords) for v in (values, without)]


class Parrot:
    """In place of sum and noise, the same answers to the same questions, whoever is asked."""

    def __init__(self):
        self._rng = np.random.default_rng(7)

    def __call__(self, sums, std, source, *, symmetric):
        assert std > 0
        return np.rint(3 * std * self._rng.standard_normal(sums.shape)).astype(np.int64)


def all_that_comes_out(heard, ratings, solver, folder):
    """Every byte of a training that anybody may see, but for the journal's random run number."""
    told, before = [], len(heard.records)
    execution = Execution(threads=2, journal=folder / "journal", progress=told.append)
    model = train(ratings, solver, Budget(2.0, 1e-4), execution).model
    model.save(folder / "model")
    spent = [json.loads(line) for line in (folder / "journal").read_text().splitlines()]
    return {
        "shown": [repr(ratings), repr(model), str(model.statement), told],
        "files": {path.name: path.read_bytes() for path in (folder / "model").iterdir()},
        "journal": [{k: v for k, v in line.items() if k != "run"} for line in spent],
        "log": heard.records[before:],
    }


OF_EVERY_KIND = {name: kind() for name, kind in SOLVERS.items()} | {
    "als, gram per item": tacit.ALS(gram="per-item"),
    "frank-wolfe, oja": FrankWolfe(direction="oja"),
    "svd, local projection": SVD(method="local-projection"),
    "svd, knn": SVD(method="knn"),
}


@pytest.mark.parametrize("name", sorted(OF_EVERY_KIND))
def test_all_but_the_noisy_answers_is_the_same_with_and_without_her(
    heard, tmp_path, monkeypatch, name
):
    seen = []
    for n, ratings in enumerate(neighbours()):
        (folder := tmp_path / str(n)).mkdir()
        monkeypatch.setattr(curator_module, "add_noise", Parrot())
        seen.append(all_that_comes_out(heard, ratings, OF_EVERY_KIND[name], folder))
    for kind, value in seen[0].items():
        assert value == seen[1][kind], kind


def test_the_price_is_known_before_anybody_is_looked_at(ratings):
    """The plan alone gives the statement's figures, to the last bit."""
    public = Public(n_users=3, n_items=len(CATALOGUE), low=1.0, high=5.0, mu=math.inf)
    fit = tacit.fit(ratings, tacit.ItemOffsets(), epsilon=1.0, delta=1e-3)
    plan = calibrate(tacit.ItemOffsets().plan(public), 1.0, 1e-3, fit.statement.relative_error)
    assert fit.statement.mu == pytest.approx(plan.mu, rel=1e-12)
    assert [r.name for r in fit.statement.releases] == [r.name for r in plan.releases]
