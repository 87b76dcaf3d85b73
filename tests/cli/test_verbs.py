# SPDX-License-Identifier: Apache-2.0
"""Every verb by typer's runner: what it prints, its JSON, its errors."""

from __future__ import annotations

import json
import math
import re
from itertools import count
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tacit
from tacit.audit import canary
from tacit.cli.app import VERBS, app
from tacit.data.split import by_rating
from tacit.mechanisms import curator, gaussian
from tacit.mechanisms.entropy import SeededSource
from tacit.model.item_model import ItemModel
from tacit.solvers import SOLVERS

CANARY = "canary-of-ann"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train, test and history as files; items are strings, users integers."""
    folder = tmp_path_factory.mktemp("cli")
    made = tacit.datasets.movielens_like(users=300, items=50, ratings=6000, half_stars=False)
    block = made.block
    items = [f"i{item}" for item in made.catalogue.ids[block.items]]
    users = made.user_ids[block.user_of_rating()]
    table = pa.table({"user": users, "item": items, "rating": block.values})
    train, test = by_rating(table, (0.8, 0.2))
    pq.write_table(train, folder / "train.parquet")
    pyarrow.csv.write_csv(test, folder / "test.csv")
    pq.write_table(test, folder / "test.parquet")
    (folder / "items.csv").write_text(
        "item,title\n" + "".join(f"i{n},Film {n}\n" for n in range(1, 51))
    )
    return folder


@pytest.fixture(scope="module")
def model(folder):
    answer = run("fit", folder / "train.parquet", "-e", 1, "-o", folder / "model", "--items",
                 folder / "items.csv", "--scale", 1, 5)  # fmt: skip
    assert answer.exit_code == 0, answer.stderr
    return folder / "model"


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def answered(*words):
    """The JSON object that is all of stdout."""
    answer = run(*words, "--json")
    assert answer.exit_code == 0, answer.stderr
    return json.loads(answer.stdout)


def refused(*words):
    answer = run(*words)
    assert answer.exit_code == 2
    assert answer.stdout == ""
    line = answer.stderr
    assert line.startswith("tacit: ")
    assert line.count("\n") == 1
    assert "Traceback" not in line
    return line


def test_fit_on_rows_left_on_disk(folder, tmp_path):
    ways = {
        "always": (folder / "train.parquet", "--stream", "always"),
        "first": (folder / "train.parquet", "--keep", tmp_path / "kept"),
        "again": (tmp_path / "kept",),
    }
    for name, words in ways.items():
        told = answered("fit", *words, "-e", 1, "-a", "popularity", "-o", tmp_path / name)
        assert (told["users"], told["items"]) == (300, 50)
    line = refused("fit", tmp_path / "kept", "-e", 1, "-o", tmp_path / "m", "--scale", 1, 5)
    assert "holds rows that are read already: leave out --scale" in line
    line = refused(
        "fit", folder / "train.parquet", "-e", 1, "-o", tmp_path / "m", "--keep", tmp_path / "kept"
    )
    assert f"--keep {tmp_path / 'kept'} is there already" in line


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_explains_itself(verb):
    answer = run(verb, "--help")
    assert answer.exit_code == 0
    assert "--json" in answer.stdout
    assert VERBS[verb] in run("--help").stdout


@pytest.mark.parametrize("algorithm", sorted(SOLVERS))
def test_plan_from_public_facts(algorithm):
    facts = answered(
        "plan", "--users", 5000, "--items", 70, "--scale", 1, 5, "-e", 2, "-a", algorithm
    )
    assert facts["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert facts["epsilon"] <= 2.0
    assert facts["delta"] == 1e-5
    assert sum(release["share"] for release in facts["releases"]) == pytest.approx(1.0)
    spent = sum(r["times"] * (r["l2"] / r["std"]) ** 2 for r in facts["releases"])
    assert math.sqrt(spent) == pytest.approx(facts["mu"])


def test_plan_of_a_source_is_what_fit_spends(folder, model):
    facts = answered("plan", folder / "train.parquet", "-e", 1, "--scale", 1, 5,
                     "--items", folder / "items.csv")  # fmt: skip
    statement = tacit.load(model).statement
    assert [(r["name"], r["l2"], r["std"], r["times"]) for r in facts["releases"]] == [
        (r.name, r.l2, r.std, r.times) for r in statement.releases
    ]
    assert facts["items"] == 50


def test_plan_in_words_and_without_noise():
    asked = ("plan", "--users", 5000, "--items", 70, "--scale", -10, 10)
    assert "Nothing is spent yet" in " ".join(run(*asked, "-e", 1).stdout.split())
    assert "NOT PRIVATE" in run(*asked, "-e", "inf").stdout
    assert answered(*asked, "-e", "inf")["epsilon"] == "infinity"


def test_fit_saves_what_it_says(folder, tmp_path):
    facts = answered("fit", folder / "train.parquet", "-e", 3, "-d", 1e-6, "-o", tmp_path / "m",
                     "-a", "item-offsets", "--set", "steps=2",
                     "--journal", tmp_path / "journal")  # fmt: skip
    loaded = tacit.load(tmp_path / "m")
    assert facts["epsilon"] == loaded.statement.epsilon <= 3
    assert facts["delta"] == loaded.statement.delta == 1e-6
    assert loaded.statement.releases[1].times == 2
    assert len((tmp_path / "journal").read_text().splitlines()) == 3


def test_fit_shows_the_statement_and_warns_of_a_large_delta(folder, tmp_path):
    answer = run("fit", folder / "train.parquet", "-e", 1, "-d", 0.5, "-o", tmp_path / "m")
    assert "joint differential privacy of each user" in answer.stdout
    assert answer.stderr.startswith("tacit: warning: --delta 0.5 is above 1/n with n = 300 users")
    assert answer.stderr.count("\n") == 1


def test_a_training_that_breaks_off_says_what_it_spent(folder, tmp_path, monkeypatch):
    class Breaks(SOLVERS["item-offsets"]):
        def fit(self, curator):
            super().fit(curator)
            raise IndexError(CANARY)

    monkeypatch.setitem(SOLVERS, "breaks", Breaks)
    answer = run("fit", folder / "train.parquet", "-e", 1, "-o", tmp_path / "m", "-a", "breaks")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("tacit: unexpected builtins.IndexError")
    assert re.search(r"; (\d+) of \1 planned releases are spent: epsilon 1\.0", answer.stderr)
    assert answer.stderr.count("\n") == 1
    assert CANARY not in answer.stderr + answer.stdout
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_model_that_cannot_be_saved_is_spent_all_the_same(folder, tmp_path, monkeypatch, fault):
    def full(*_):
        raise fault

    monkeypatch.setattr(ItemModel, "save", full)
    words = ("fit", folder / "train.parquet", "-e", 1, "-o", tmp_path / "m", "-a", "popularity")
    answer = run(*words)
    assert answer.exit_code == (1 if isinstance(fault, OSError) else 130)
    assert "1 of 1 planned releases are spent: epsilon 1.0" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_what_is_spent_is_told_to_who_stops_the_program_at_its_last_line(
    folder, tmp_path, monkeypatch
):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.cli.fit.say", stop)
    words = ("fit", folder / "train.parquet", "-e", 1, "-a", "popularity")
    answer = run(*words, "-o", tmp_path / "m")
    assert answer.exit_code == 130
    assert answer.stderr == "tacit: interrupted; all 1 planned releases are spent\n"
    assert tacit.load(tmp_path / "m").statement.releases[0].times == 1


def test_settings_are_those_of_the_solver(folder, tmp_path):
    listed = answered("algorithms")
    assert listed["item-offsets"]["steps"] == 5
    assert "--set steps=5" in run("algorithms").stdout
    fit = ("fit", folder / "train.parquet", "-e", 1, "-o", tmp_path / "m")
    assert "has no setting 'rank'; it has steps" in refused(
        *fit, "-a", "item-offsets", "--set", "rank=3"
    )
    assert "cannot read 'many' as int" in refused(*fit, "-a", "item-offsets", "--set", "steps=many")
    assert "steps must be at least 1" in refused(*fit, "-a", "item-offsets", "--set", "steps=0")
    assert "NAME=VALUE" in refused(*fit, "--set", "steps")
    unknown = refused(*fit, "-a", "magic")
    assert "there are " in unknown
    assert all(name in unknown for name in SOLVERS)
    assert not (tmp_path / "m").exists()


def test_fit_starts_from_an_earlier_model(folder, model, tmp_path):
    source = (folder / "train.parquet", "--items", folder / "items.csv", "--scale", 1, 5)
    raw = tmp_path / "raw"
    sgd = ("-a", "sgd", "--set", "rank=3", "--set", "epochs=2", "-e", "inf")
    assert run("fit", *source, *sgd, "-o", raw).exit_code == 0
    again = run("fit", *source, *sgd, "-o", tmp_path / "b", "--start", raw)
    assert again.exit_code == 0, again.stderr
    private = ("-e", 1, "-o", tmp_path / "c", "--start")
    assert "the start is NOT PRIVATE" in refused("fit", *source, *private, raw)
    declared = run("fit", *source, *private, raw, "--start-is-public")
    assert "DECLARED TO HAVE SEEN PUBLIC RATINGS" in declared.stdout
    assert declared.stdout.startswith("(1, ")
    counted = answered("fit", *source, "-e", 1, "-o", tmp_path / "d", "--start", tmp_path / "c")
    assert 1.3 < counted["epsilon"] < 2
    assert tacit.load(tmp_path / "d").item_factors.shape == (50, 4)
    told = answered("plan", *source, "-e", 1, "--start", tmp_path / "c")
    assert told["releases"][-1]["size"] in {50 * 4, 1}
    popular = ("fit", *source, *private, raw, "-a", "popularity")
    assert "popularity takes no --start; these do: als, gradient, langevin, sgd" in refused(
        *popular
    )
    assert "--start, which is not given" in refused(
        "fit", *source, *private[:-1], "--start-is-public"
    )
    assert "no tacit model" in refused("fit", *source, *private, tmp_path / "nothing")
    assert "the audit makes its items up" in refused(
        "audit", "--runs", 2, "--start", raw, "--start-is-public"
    )


def test_recommend_for_one(folder, model, tmp_path):
    pairs = answered("recommend", model, "--known", "i1=5,i2=1", "-n", 3)["recommendations"]
    assert len(pairs) == 3
    assert not {"i1", "i2"} & {pair["item"] for pair in pairs}
    assert pairs[0]["title"] == f"Film {pairs[0]['item'][1:]}"
    (tmp_path / "known.json").write_text(json.dumps({"i1": 5, "i2": 1.0}))
    same = answered("recommend", model, "--known", tmp_path / "known.json", "-n", 3)
    assert same["recommendations"] == pairs
    assert "Film" in run("recommend", model, "--known", "i1=5").stdout


def test_recommend_among_candidates_and_with_unknown_items(model):
    words = ("recommend", model, "--known", "i1=5,nowhere=3", "--candidates", "i3, i1,i2")
    assert "--unknown-items drop" in refused(*words)

    def items(*more):
        pairs = answered(*words, "--unknown-items", "drop", *more)["recommendations"]
        return {pair["item"] for pair in pairs}

    assert items() == {"i2", "i3"}
    assert items("--seen", "keep") == {"i1", "i2", "i3"}
    assert "candidates are not in this model" in refused(
        "recommend", model, "--known", "i1=5", "--candidates", CANARY
    )


def test_recommend_for_many_is_recommend_for_each(folder, model, tmp_path):
    facts = answered(
        "recommend", model, "--users", folder / "test.parquet", "-o", tmp_path / "r.parquet"
    )
    table = pq.read_table(tmp_path / "r.parquet").to_pandas()
    assert facts["users"] == table["user"].nunique()
    test = pq.read_table(folder / "test.parquet").to_pandas()
    user = table["user"].iloc[0]
    known = test[test["user"] == user]
    alone = tacit.load(model).recommend(
        dict(zip(known["item"], known["rating"], strict=True)), n=10
    )
    mine = table[table["user"] == user].sort_values("rank")
    assert mine["item"].tolist() == [item for item, _ in alone]
    assert mine["score"].tolist() == pytest.approx([score for _, score in alone])
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


def test_evaluate_has_the_promised_keys(folder):
    facts = answered("evaluate", folder / "train.parquet", "--test", folder / "test.csv", "-e", 2,
                     "-d", 1e-5, "--seeds", 2)  # fmt: skip
    promised = {"rmse.mean", "rmse.std", "recall@20.mean", "ndcg@20.mean", "epsilon", "delta",
                "seconds", "mae.mean", "recall@20.std"}  # fmt: skip
    assert promised <= facts.keys()
    assert facts["label"] == "computed on raw data; not covered by the statement"
    assert 0.5 < facts["rmse.mean"] < 1.3
    assert 0 < facts["rmse.std"] < 0.2
    assert facts["epsilon"] <= 2
    assert facts["delta"] == 1e-5
    assert facts["private.epsilon"] <= 0.5
    assert (
        abs(facts["private.rmse"] ** 2 - facts["rmse.mean"] ** 2) < 6 * facts["private.noise"] + 0.2
    )
    assert facts["rows.left_out"] == 0


def test_evaluate_in_words_says_what_is_raw(folder):
    words = ("evaluate", folder / "train.parquet", "--test", folder / "test.parquet")
    shown = run(*words, "-e", "inf", "--seeds", 1, "-a", "popularity").stdout
    assert "computed on raw data; not covered by the statement" in shown
    assert "NOT PRIVATE" in shown
    assert "PRIVATE FIGURE" in shown


def test_evaluate_implicit_with_held_out_users(folder, tmp_path):
    table = pq.read_table(folder / "train.parquet")
    held = np.asarray(table["user"]) > 250
    pq.write_table(table.filter(~held), tmp_path / "train.parquet")
    pq.write_table(table.filter(held), tmp_path / "held.parquet")
    facts = answered("evaluate", tmp_path / "train.parquet", "--test", tmp_path / "held.parquet",
                     "-e", "inf", "--seeds", 1, "-a", "popularity", "--implicit")  # fmt: skip
    assert facts["users.without_history"] == 0
    assert 0.2 * held.sum() <= facts["rows.judged"] < 0.3 * held.sum()
    assert facts["recall@20.mean"] > 0.4  # 20 of 50 items, the most popular ones
    assert facts["epsilon"] == "infinity"
    assert facts["rmse.std"] is None
    assert "private.rmse" not in facts


def test_implicit_from_plan_to_recommendation(folder, tmp_path):
    facts = ("--users", 300, "--items", 50, "--epsilon", 5, "--implicit")
    planned = answered("plan", *facts)
    assert [release["name"] for release in planned["releases"]] == [
        "counts.count",
        "factors.product",
    ]
    words = ("--implicit", "--epsilon", 5, "--delta", planned["delta"])
    made = answered("fit", folder / "train.parquet", *words, "--output", tmp_path / "model")
    assert made["epsilon"] <= 5
    one = answered("recommend", tmp_path / "model", "--known", "i1, i7", "-n", 3)
    same = answered("recommend", tmp_path / "model", "--known", "i1=1,i7=1", "-n", 3)
    assert one == same
    assert len(one["recommendations"]) == 3
    (tmp_path / "known.json").write_text('["i1", "i7"]')
    assert one == answered(
        "recommend", tmp_path / "model", "--known", tmp_path / "known.json", "-n", 3
    )


def test_items_alone_are_refused_where_ratings_are_wanted(model):
    answer = run("recommend", model, "--known", "i1,i7")
    assert answer.exit_code == 2
    assert "pair 1 is not of the form id=rating" in answer.stderr


def test_evaluate_implicit_als_has_recall_and_no_private_figure(folder):
    facts = answered("evaluate", folder / "train.parquet", "--test", folder / "test.parquet",
                     "--epsilon", 20, "--seeds", 2, "--implicit")  # fmt: skip
    assert facts["algorithm"] == "als"
    assert facts["epsilon"] <= 20
    assert 0.3 < facts["recall@20.mean"] < 1
    assert 0 < facts["ndcg@20.mean"] < 1
    assert facts["recall@20.std"] > 0
    assert "private.rmse" not in facts


def test_inspect(model):
    facts = answered("inspect", model)
    assert facts["statement"]["epsilon"] <= 1
    assert facts["items"] == 50
    shown = run("inspect", model).stdout
    assert facts["plain"] in shown
    assert "joint differential privacy of each user" in shown


def test_an_exported_index_recommends_what_the_model_does(model, tmp_path):
    pytest.importorskip("usearch")
    facts = answered("export", model, "-o", tmp_path / "index")
    assert facts["items"] == 50
    known = ("recommend", model, "--known", "i1=5,i2=1", "-n", 5)
    near = answered(*known, "--index", tmp_path / "index")["recommendations"]
    exact = answered(*known)["recommendations"]
    assert [each["item"] for each in near] == [each["item"] for each in exact]
    assert "50 items" in run("export", model, "-o", tmp_path / "index").stdout
    assert "no whole index" in refused(*known, "--index", tmp_path)
    assert "--index goes with --known" in refused(
        "recommend", model, "--users", "u.parquet", "-o", tmp_path / "o", "--index", tmp_path
    )


def test_demo_shows_a_table_and_a_picture(tmp_path):
    facts = answered("demo", "--users", 200, "--output", tmp_path / "new" / "demo.svg")
    assert facts["popularity, epsilon 1.recall@20"] > 0
    picture = (tmp_path / "new" / "demo.svg").read_text()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "popularity, epsilon 1" in picture
    assert "not covered by the statement" in picture
    rows = sum(name.endswith(".rmse") for name in facts)
    assert picture.count("</text>") == 4 + 3 * rows


def test_audit_measures_what_is_claimed(monkeypatch):
    numbers = count()
    monkeypatch.setattr(canary, "NoiseSource", lambda: SeededSource(next(numbers)))
    facts = answered("audit", "-a", "svd", "--set", "method=knn", "--runs", 60)
    assert facts["mu.claimed"] == pytest.approx(1.5)
    assert facts["mu.reached"] == pytest.approx(facts["mu.canary"], abs=4 * facts["mu.error"])
    assert "method='knn'" in facts["solver"]
    assert not facts["refuted"]
    assert "Not refuted" in run("audit", "-a", "popularity", "--runs", 30).stdout

    def third(sums, std, source, *, symmetric):
        return gaussian.add_noise(sums, std / 3, source, symmetric=symmetric)

    monkeypatch.setattr(curator, "add_noise", third)
    answer = run("audit", "-a", "popularity", "--runs", 60)
    assert answer.exit_code == 1
    assert "REFUTED" in answer.stdout
    assert "no noise makes it private" in refused("audit", "-a", "sgd")


def test_no_epsilon_is_accepted_that_is_none(folder, tmp_path):
    fit = ("fit", folder / "train.parquet", "-o", tmp_path / "m")
    for bad in (0, -1, "nan"):
        assert "epsilon must be above 0" in refused(*fit, "-e", bad)
    for bad in (0, -1e-5, 1, "nan"):
        assert "delta must be between 0 and 1" in refused(*fit, "-e", 1, "-d", bad)
    assert not (tmp_path / "m").exists()


def test_errors_speak_of_options_and_quote_nobody(folder, model, tmp_path):
    private = pa.table(
        {"user": [CANARY, CANARY, "b"], "item": ["i1", "i1", CANARY], "rating": [1, 2, 3]}
    )
    pq.write_table(private, tmp_path / "private.parquet")
    lines = [
        refused("fit", tmp_path / "private.parquet", "-e", 1, "-o", tmp_path / "m"),
        refused("fit", tmp_path / "none.csv", "-e", 1, "-o", tmp_path / "m"),
        refused("fit", folder / "train.parquet", "--scale", 2, 4, "-e", 1, "-o", tmp_path / "m"),
        refused("fit", folder / "train.parquet", "-e", 1, "-o", tmp_path),
        refused("fit", folder / "train.parquet", "-e", 1, "-o", tmp_path / "private.parquet"),
        refused("recommend", model, "--known", f"{CANARY}=3"),
        refused("recommend", model, "--known", f"i1={CANARY}"),
        refused("recommend", model, "--known", CANARY),
        refused("recommend", model, "--known", "i1=77"),
        refused("recommend", model),
        refused("recommend", model, "--users", tmp_path / "private.parquet"),
        refused("recommend", model, "--users", tmp_path / "private.parquet", "-o", tmp_path / "r"),
        refused("inspect", tmp_path),
        refused("plan", "-e", 1, "--users", 10),
        refused("plan", "-e", 1, "--users", 10, "--items", 3, "--scale", 5, 1),
        refused("plan", folder / "train.parquet", "-e", 1, "--users", 10),
        refused("evaluate", folder / "train.parquet", "--test", tmp_path / "none", "-e", 1),
    ]
    assert not any(CANARY in line for line in lines)
    assert "--duplicates last" in lines[0]
    assert "--out-of-scale clip" in lines[2]
    assert {path.name for path in tmp_path.iterdir()} == {"private.parquet"}
