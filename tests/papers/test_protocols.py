# SPDX-License-Identifier: Apache-2.0
"""The paper benchmarks on small made-up files in the formats of the real data."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch):
    """Imports a script of bench/papers."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "papers"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(ROOT / "bench") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def made_up():
    """80 users, 50 items, about 30 ratings each: as (user, item, stars)."""
    block = tacit.datasets.movielens_like(80, 50, 2400, rank=2).block
    users = block.user_of_rating() + 1
    return list(zip(users.tolist(), (block.items + 1).tolist(), block.values.tolist(), strict=True))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    return tmp_path


def write_10m(place, rows):
    folder = place / "ml-10M100K"
    folder.mkdir()
    lines = "".join(f"{u}::{i}::{r:g}::838985046\n" for u, i, r in rows)
    (folder / "ratings.dat").write_text(lines)
    titles = "".join(f"{i}::Film {i} (1990)::Drama\n" for i in range(1, 52))
    (folder / "movies.dat").write_text(titles)


def write_20m(place, rows):
    folder = place / "ml-20m"
    folder.mkdir()
    lines = "".join(f"{u},{i},{r:g},1112486027\n" for u, i, r in rows)
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + lines)
    titles = "".join(f'{i},"Film, the {i} (1990)",Drama\n' for i in range(1, 52))
    (folder / "movies.csv").write_text("movieId,title,genres\n" + titles)


def write_netflix(place, rows):
    folder = place / "netflix"
    folder.mkdir()
    for part in (0, 1):
        lines = []
        for item in range(1 + part, 52, 2):
            rated = [(u, round(r + 0.1)) for u, i, r in rows if i == item]
            lines += [f"{item}:\n", *(f"{u},{r},2005-09-06\n" for u, r in rated)]
        (folder / f"combined_data_{part + 1}.txt").write_text("".join(lines))
    titles = "".join(f"{i},1990,Film, the {i}\n" for i in range(1, 52))
    (folder / "movie_titles.csv").write_text(titles)


def write_yahoo(place, rows):
    folder = place / "yahoo-music"
    folder.mkdir()
    lines = []
    for user in dict.fromkeys(u for u, _, _ in rows):
        rated = [(i, round(20 * r)) for u, i, r in rows if u == user]
        lines += [f"{user}|{len(rated)}\n", *(f"{i}\t{r}\t3811\t13:24:00\n" for i, r in rated)]
    (folder / "trainIdx1.txt").write_text("".join(lines))


# --- table 5 -------------------------------------------------------------------------------------


def results_of(printed):
    """The rows of the second table."""
    lines = printed.split("result at the claimed epsilon", 1)[1].splitlines()[2:]
    return [line for line in lines if line]


def test_table_5_runs_on_files_of_the_real_formats(bench, place, made_up, capsys):
    write_10m(place, made_up)
    write_20m(place, made_up)
    assert bench("table5").main(["--runs", "1"]) == 0
    rows = results_of(capsys.readouterr().out)
    assert len(rows) == 12
    for row in rows:
        data, _, measure, _, _, _, *told = row.split()
        first = float(told[0])
        assert 0.3 < first < 3 if measure == "RMSE" else 0 <= first <= 1
        assert (measure == "RMSE") == (data != "20M")
        wanted = {"top400": "noisy choice", "10M": "ALS()", "20M": 'ALS("implicit")'}[data]
        assert wanted in row


def test_table_5_says_what_is_absent(bench, place, made_up, capsys):
    write_20m(place, made_up)
    assert bench("table5").main(["--runs", "1"]) == 0
    rows = results_of(capsys.readouterr().out)
    absent = [row.split()[0] for row in rows if "ml-10m absent; set TACIT_DATA" in row]
    assert absent == ["top400"] * 4 + ["10M"] * 4


def test_the_result_has_the_figures_that_tests_compute():
    """Claimed, the paper's formula, zero-out and replace-one, as in docs/papers.md."""
    sys.path.insert(0, str(ROOT / "tests" / "unit" / "accounting"))
    try:
        table = importlib.import_module("test_published_figures").TABLE_4
    finally:
        sys.path.pop(0)
    text = (ROOT / "bench" / "results" / "table5.txt").read_text()
    for name, (*_, formula, _, true, _, replaced) in table.items():
        data, claimed = name.split()
        row = re.search(rf"^{data} +{claimed} +(\S+) +(\S+) +(\S+) +(yes|no)$", text, re.MULTILINE)
        assert row[1] == formula
        assert row[2] == true
        assert float(row[3]) == pytest.approx(float(replaced), abs=0.006)
        assert (row[4] == "yes") == (float(true) <= float(claimed))


# --- the other figures of 003 --------------------------------------------------------------------


def test_the_studies_of_003_run_on_files_of_the_real_format(bench, place, made_up, capsys):
    script = bench("dpals_ml1m")
    assert script.main([]) == 0
    assert "ml-1m absent; set TACIT_DATA" in capsys.readouterr().out
    write_10m(place, [(u, i, round(r + 0.1)) for u, i, r in made_up])
    (place / "ml-10M100K").rename(place / "ml-1m")
    script.REPEATS = 1
    assert script.main([]) == 0
    told = capsys.readouterr().out
    for figure in ("2 and 6", "3a", "5", "8", "9", "10", "12"):
        assert len(re.findall(rf"^figures? {figure}: ", told, re.MULTILINE)) == 1
    found = [float(each) for each in re.findall(r"(?<= )\d\.\d{4}(?!\d)", told)]
    assert len(found) == 3 + 12 + 12 + 3 + 12 + 9 + 12
    assert 0.2 < min(found) < max(found) < 4


# --- paper 004 -----------------------------------------------------------------------------------


def probe(place, rows):
    """Every ninth rating, and a pair that nobody rated."""
    held = rows[::9]
    lines = []
    for item in sorted({i for _, i, _ in held}):
        lines += [f"{item}:\n", *(f"{u}\n" for u, i, _ in held if i == item)]
    (place / "netflix" / "probe.txt").write_text("".join([*lines, "51:\n", "9999\n"]))
    return held


def validation(place, rows):
    lines = []
    for user in dict.fromkeys(u for u, _, _ in rows):
        seen = {i for u, i, _ in rows if u == user}
        unseen = [i for i in range(1, 51) if i not in seen][:4]
        lines += [f"{user}|{len(unseen)}\n", *(f"{i}\t70\t3811\t13:24:00\n" for i in unseen)]
    (place / "yahoo-music" / "validationIdx1.txt").write_text("".join(lines))


def test_the_probe_of_netflix_is_held_out(bench, place, made_up):
    write_netflix(place, made_up)
    held = probe(place, made_up)
    train, asked = bench("protocols").netflix(place / "netflix")
    pairs = [
        set(
            zip(
                part.user_ids[part.block.user_of_rating()].tolist(),
                part.catalogue.ids[part.block.items].tolist(),
                strict=True,
            )
        )
        for part in (train, asked)
    ]
    assert pairs[1] == {(u, i) for u, i, _ in held}
    assert pairs[0] == {(u, i) for u, i, _ in made_up} - pairs[1]
    assert train.n_users == asked.n_users


def test_the_protocols_of_004_run_on_files_of_the_real_formats(bench, place, made_up, capsys):
    script = bench("dpmf")
    assert script.main(["--ranks", "16"]) == 0
    assert "netflix absent; set TACIT_DATA" in capsys.readouterr().out
    write_netflix(place, made_up)
    probe(place, made_up)
    write_yahoo(place, made_up)
    validation(place, made_up)
    assert script.main(["--ranks", "4", "16", "--posterior"]) == 0
    told = capsys.readouterr().out
    assert "absent" not in told
    for label, count in (("ALS()", 4), ("Langevin(), trimmed", 4), ("posterior, NOT PRIVATE", 4)):
        rows = [line for line in told.splitlines() if line.startswith(label)]
        assert len(rows) == 2
        for row in rows:
            found = [float(each) for each in row.removeprefix(label).split()]
            assert len(found) == count
            assert all(np.isnan(each) or 0.3 < each < 3 for each in found)
    yahoo = told.split("yahoo-music:")[1]
    assert "30 epochs" in yahoo
    assert "tau = 200" in yahoo


def test_the_papers_steps_are_the_same_in_tacits_units(bench):
    """In units of a quarter of the scale: stars of Netflix, 1.25 stars of Yahoo! Music."""
    sets = bench("dpmf").SETS
    netflix, yahoo = sets["netflix"].sgd(16, 4.0), sets["yahoo-music"].sgd(16, 5.0)
    assert (netflix.rate, netflix.ridge, netflix.epochs, netflix.decay) == (0.02, 0.005, 15, 1.0)
    assert yahoo.rate == pytest.approx(0.08 * 1.25)
    assert yahoo.rate * yahoo.ridge == pytest.approx(0.08 * 0.05)


# --- the protocols -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "write", "scale"),
    [
        ("ml-10m", write_10m, (0.5, 5)),
        ("netflix", write_netflix, (1, 5)),
        ("yahoo-music", write_yahoo, (0, 5)),
    ],
)
def test_frank_wolfe_takes_public_sets(bench, place, made_up, name, write, scale):
    script = bench("frank_wolfe")
    assert script.splits(name, 2, 0) == []
    write(place, made_up)
    runs = script.splits(name, 2, 0)
    assert len(runs) == 2
    for train, asked in runs:
        assert (train.scale.low, train.scale.high) == scale
        assert np.diff(train.block.indptr).max() <= 80
        assert 0 < len(asked.target.values) < 60
        assert train.block.values.max() <= scale[1]
    assert not np.array_equal(runs[0][1].target.items, runs[1][1].target.items)


def test_ml_20m_becomes_binary_with_users_of_five(bench, place, made_up):
    protocols = bench("protocols")
    write_20m(place, made_up)
    whole = tacit.datasets.load("ml-20m")
    liked = protocols.liked(whole)
    counts = {}
    for user, _, stars in made_up:
        counts[user] = counts.get(user, 0) + (stars >= 4)
    assert liked.user_ids.tolist() == sorted(u for u, n in counts.items() if n >= 5)
    assert len(liked.block.items) == sum(n for n in counts.values() if n >= 5)
    assert set(liked.block.values) == {1.0}
    held = protocols.strangers(liked, 20, seed=0)
    assert (held.history.n_users, held.train.n_users) == (10, liked.n_users - 20)
    assert not set(held.history.user_ids) & set(held.train.user_ids)
    assert held.history.user_ids.tolist() == held.target.user_ids.tolist()


def test_splits_by_rating_have_their_shares_and_nothing_in_common(bench):
    whole = tacit.datasets.movielens_like(400, 300, 40_000)
    parts = bench("protocols").by_rating(whole, 0.1, seed=3)
    sizes = [len(part.block.items) / 40_000 for part in parts]
    assert sizes == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
    pairs = [part.block.user_of_rating() * 300 + part.block.items for part in parts]
    assert len(np.unique(np.concatenate(pairs))) == 40_000


def test_the_most_rated_items_by_exact_and_by_noisy_counts(bench):
    protocols = bench("protocols")
    whole = tacit.datasets.movielens_like(2_000, 200, 100_000)
    exact = protocols.most_rated(whole, 20)
    counts = np.bincount(whole.block.items, minlength=200)
    assert counts[exact].min() >= np.delete(counts, exact).max()
    chosen = protocols.only(whole, exact)
    assert chosen.n_items == 20
    assert len(chosen.block.items) == counts[exact].sum()
    chosen.block.check()
    noisy, left = protocols.most_rated_by_noisy_counts(whole, 20, 8.0, 1e-5)
    assert len(set(noisy) & set(exact)) >= 15
    assert 7.5 < left < 8.0


def test_rescaled_moves_the_ends_of_the_scale(bench):
    whole = tacit.datasets.movielens_like(50, 40, 900)
    moved = bench("protocols").rescaled(whole, 0.0, 9.0)
    np.testing.assert_allclose(moved.block.values, (whole.block.values - 0.5) * 2, rtol=1e-6)
