# SPDX-License-Identifier: Apache-2.0
"""Public sets in their publishers' formats, with made-up ratings."""

from __future__ import annotations

import gzip
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.data.errors import DataError
from tacit.datasets import find, load
from tacit.datasets.public import SETS

ROWS = [(7, 1, 4), (7, 3, 2), (9, 3, 5), (12, 2, 1)]
NEVER_AGAIN = [(7, 1, 80), (7, 3, 40), (9, 3, 100), (12, 2, 0)]
TITLES = {1: "Toy Story (1995)", 2: "Amélie (2001)", 3: "Good, the Bad, the (1966)", 4: "Unseen"}
LATIN = "latin-1"


def dat(folder):
    (folder / "ratings.dat").write_text("".join(f"{u}::{i}::{r}::978300760\n" for u, i, r in ROWS))
    lines = [f"{i}::{title}::Comedy|Drama\n" for i, title in TITLES.items()]
    (folder / "movies.dat").write_text("".join(lines), LATIN)


def tab(folder):
    (folder / "u.data").write_text("".join(f"{u}\t{i}\t{r}\t881250949\n" for u, i, r in ROWS))
    lines = [f"{i}|{title}|01-Jan-1995||http://x" + "|0" * 19 + "\n" for i, title in TITLES.items()]
    (folder / "u.item").write_text("".join(lines), LATIN)


def comma(folder):
    rows = "".join(f"{u},{i},{r}.0,1112486027\n" for u, i, r in ROWS)
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + rows)
    titles = "".join(f'{i},"{title}",Comedy|Drama\n' for i, title in TITLES.items())
    (folder / "movies.csv").write_text("movieId,title,genres\n" + titles, "utf-8")


def movie(number):
    rated = "".join(f"{u},{r},2005-09-06\n" for u, i, r in ROWS if i == number)
    return f"{number}:\n{rated}"


def titles_of_netflix(folder, name):
    lines = [f"{i},{'NULL' if i == 4 else 1995},{title}\n" for i, title in TITLES.items()]
    (folder / name).write_text("".join(lines), LATIN)


def prize(folder):
    (folder / "training_set").mkdir()
    for number in TITLES:
        (folder / "training_set" / f"mv_{number:07d}.txt").write_text(movie(number))
    titles_of_netflix(folder, "movie_titles.txt")


def prize_in_parts(folder):
    (folder / "combined_data_1.txt").write_text(movie(1) + movie(2))
    (folder / "combined_data_2.txt").write_text(movie(3) + movie(4))
    titles_of_netflix(folder, "movie_titles.csv")


def music(folder):
    users = dict.fromkeys(u for u, _, _ in ROWS)
    blocks = []
    for user in users:
        rated = [(i, r) for u, i, r in ROWS if u == user]
        rows = "".join(f"{i}\t{r}\t3811\t13:24:00\n" for i, r in rated)
        blocks.append(f"{user}|{len(rated)}\n{rows}")
    (folder / "trainIdx1.txt").write_text("".join(blocks))


def artists(folder):
    rows = "".join(f"{u}\t{i}\t{255 if r == 1 else 20 * r}\n" for u, i, r in ROWS)
    (folder / "ydata-ymusic-user-artist-ratings-v1_0.txt").write_text(rows)
    names = "".join(f"{i}\t{title}\n" for i, title in TITLES.items())
    (folder / "ydata-ymusic-artist-names-v1_0.txt").write_text(names, LATIN)


def songs(folder, place="train_{}.txt"):
    """The users of one file come in no other."""
    for part in range(10):
        rows = "".join(f"{u}\t{i}\t{r}\n" for u, i, r in ROWS if u % 10 == part) or "99\t1\t5\n"
        path = folder / place.format(part)
        if part in {2, 7, 9}:
            packed = path.suffix == ".gz"
            path.write_bytes(gzip.compress(rows.encode()) if packed else rows.encode())


def songs_packed(folder):
    songs(folder, "ydata-ymusic-user-song-ratings-meta-v1_0-train_{}.txt.gz")


def converted(folder):
    columns = zip(*ROWS, strict=True)
    table = pa.table(dict(zip(("user", "item", "rating"), map(pa.array, columns), strict=True)))
    pq.write_table(table, folder / "ratings.parquet")
    catalogue = pa.table({"item": list(TITLES), "title": list(TITLES.values())})
    pq.write_table(catalogue, folder / "items.parquet")


FORMATS = [
    ("ml-100k", tab),
    ("ml-1m", dat),
    ("ml-10m", dat),
    ("ml-20m", comma),
    ("ml-25m", comma),
    ("netflix", prize),
    ("netflix", prize_in_parts),
    ("yahoo-music", music),
    ("yahoo-r1", artists),
    ("yahoo-r2", songs),
    ("yahoo-r2", songs_packed),
    ("ml-1m", converted),
]


def rows(ratings):
    block = ratings.block
    users = ratings.user_ids[block.user_of_rating()].tolist()
    items = ratings.catalogue.ids[block.items].tolist()
    return list(zip(users, items, block.values.tolist(), strict=True))


def test_every_set_has_a_format_here():
    assert {name for name, _ in FORMATS} == set(SETS)


@pytest.mark.parametrize(("name", "write"), FORMATS)
def test_loads(tmp_path, monkeypatch, name, write):
    folder = tmp_path / SETS[name].folders[-1]
    folder.mkdir()
    write(folder)
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    assert find(name) == folder
    for found in (load(name), tacit.datasets.load(name, folder)):
        assert rows(found) == (NEVER_AGAIN if name == "yahoo-r1" else ROWS)
        assert (found.scale.low, found.scale.high) == SETS[name].scale
        assert found.scale.origin == "declared"
        if SETS[name].catalogue:
            assert found.catalogue.titles == tuple(TITLES.values())
            assert found.catalogue.origin == "file"
        else:
            assert found.catalogue.ids.tolist() == [1, 2, 3]
            assert found.catalogue.origin == "source"


def test_options_of_read_are_passed_on(tmp_path):
    prize(tmp_path)
    some = load("netflix", tmp_path, items=[3, 1], unknown_items="drop")
    assert rows(some) == [(7, 3, 2.0), (7, 1, 4.0), (9, 3, 5.0)]
    assert some.n_users == 3


def test_parts_that_are_kept_apart(tmp_path):
    music(tmp_path)
    songs(tmp_path)
    (tmp_path / "validationIdx1.txt").write_text(
        "7|1\n2\t30\t3811\t13:24:00\n9|1\n1\t90\t1\t0:00\n"
    )
    (tmp_path / "test_3.txt").write_text("13\t3\t2\n13\t8\t2\n")
    (tmp_path / "test_7.txt").write_text("7\t2\t4\n")
    for name, part, wanted in (
        ("yahoo-music", "validation", [(7, 2, 30), (9, 1, 90)]),
        ("yahoo-r2", "test", [(7, 2, 4), (13, 3, 2)]),
    ):
        train = load(name, tmp_path)
        ids = train.catalogue.ids.tolist()
        assert rows(load(name, tmp_path, part=part, items=ids, unknown_items="drop")) == wanted
    with pytest.raises(DataError, match=r"no part 'test' of 'yahoo-music' \(train, validation\)"):
        load("yahoo-music", tmp_path, part="test")


@pytest.mark.parametrize("name", SETS)
def test_without_a_copy_it_says_what_to_set(tmp_path, monkeypatch, name):
    monkeypatch.delenv("TACIT_DATA", raising=False)
    assert find(name) is None
    with pytest.raises(DataError, match="set TACIT_DATA to the folder that holds"):
        load(name)
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    assert find(name) is None
    wanted = re.escape(SETS[name].ratings[0])
    with pytest.raises(DataError, match=f"holds none, with {wanted}"):
        load(name, tmp_path)


def test_unknown_set():
    with pytest.raises(DataError, match="no data set is called 'ml-11m'; there are ml-100k"):
        load("ml-11m")


@pytest.mark.parametrize("line", ["x,1995,Toy Story", "1,Toy Story"])
def test_damaged_titles(tmp_path, line):
    prize(tmp_path)
    (tmp_path / "movie_titles.txt").write_text(f"1,1995,Toy Story\n{line}\n")
    with pytest.raises(DataError, match="line 2 is not a movie's number, year and title"):
        load("netflix", tmp_path)


@pytest.mark.parametrize(
    ("name", "write", "file", "text", "message"),
    [
        ("ml-10m", dat, "ratings.dat", "1::2::3::4\n1::2\n", "line 2 "),
        ("ml-20m", comma, "ratings.csv", "userId,movieId,rating,timestamp\n1,2,9.0,4\n", "scale"),
        ("netflix", prize_in_parts, "combined_data_2.txt", "1,2,2005-09-06\n", "begins with rows"),
        ("yahoo-music", music, "trainIdx1.txt", "7|2\n3\t4\t5\t0:00\n", "cut short"),
        ("yahoo-r1", artists, "ydata-ymusic-artist-names-v1_0.txt", "1\n", "line 1 is not an art"),
        ("yahoo-r1", artists, "ydata-ymusic-user-artist-ratings-v1_0.txt", "1\t2\t101\n", "scale"),
        ("yahoo-r2", songs, "train_7.txt", "1\t2\n", "every line must have a user, an item and a"),
        ("yahoo-r2", songs, "train_7.txt", "1\t2\t\n", "every line must have"),
        ("yahoo-r2", songs, "train_9.txt", "1\tAnn\t4\n", "every line must have"),
    ],
)
def test_damaged_ratings(tmp_path, name, write, file, text, message):
    write(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(DataError, match=message):
        load(name, tmp_path)
