# SPDX-License-Identifier: Apache-2.0
"""Text with headers: the Netflix prize (movie by movie) and Yahoo! Music (user by user)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from tacit.data import grouped
from tacit.data.errors import DataError
from tacit.data.read import read

NETFLIX = "1:\n30,3,2005-09-06\n4,5,2005-05-13\n10:\n2:\n4,1,2004-01-01\n"
YAHOO = "7|2\n100\t90\t3811\t13:24:00\n3\t0\t3811\t13:25:00\n8|0\n2|1\n3\t70\t10\t00:00:01\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="ratings.txt"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


def rows(ratings):
    """As (user, item, rating), in the order of both ids."""
    block = ratings.block
    users = ratings.user_ids[block.user_of_rating()].tolist()
    items = ratings.catalogue.ids[block.items].tolist()
    return list(zip(users, items, block.values.tolist(), strict=True))


@pytest.mark.parametrize("turned", [str, lambda text: text.replace("\n", "\r\n"), lambda t: t[:-1]])
def test_netflix(write, turned):
    found = read(write(turned(NETFLIX)), scale=(1, 5))
    assert rows(found) == [(4, 1, 5.0), (4, 2, 1.0), (30, 1, 3.0)]


def test_netflix_in_several_files(write):
    write("10:\n4,2,2005-09-06\n", "mv_0000010.txt")
    path = write("2:\n30,3,2005-09-06\n5,4,2005-09-06\n", "mv_0000002.txt")
    found = read(path.parent / "mv_*.txt", items=[1, 2, 10], scale=(1, 5))
    assert rows(found) == [(4, 10, 2.0), (5, 2, 4.0), (30, 2, 3.0)]


@pytest.mark.parametrize("packed", [str.encode, lambda text: gzip.compress(text.encode())])
def test_yahoo(write, packed):
    found = read(write(packed(YAHOO)))
    assert rows(found) == [(2, 3, 70.0), (7, 3, 0.0), (7, 100, 90.0)]
    assert (found.scale.low, found.scale.high) == (0, 100)


def test_parts_of_a_file_go_on_where_the_last_one_ended(write, monkeypatch):
    """Blocks of 50 bytes cut headers off from their rows."""
    rng = np.random.default_rng(0)
    wanted = {(u, i): int(rng.integers(101)) for u in range(40) for i in range(1 + u % 7)}
    lines = [
        f"{u}|{1 + u % 7}\n"
        + "".join(f"{i}\t{wanted[u, i]}\t1\t00:00:00\n" for i in range(1 + u % 7))
        for u in range(40)
    ]
    path = write("".join(lines))
    monkeypatch.setattr(grouped, "_BLOCK", 50)
    found = read(path, scale=(0, 100))
    assert {(u, i): r for u, i, r in rows(found)} == wanted
    path.write_text("".join(lines)[: -len("6\t50\t1\t00:00:00\n") - 3])
    with pytest.raises(DataError, match=r"line \d+ "):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:\n30,3,2005-09-06\n4,5\n", "line 3 is no header and has not 3 fields"),
        ("1:\n30,3,2005-09-06\n\n4,5,2005-09-06\n", "line 3 is no header"),
        ("1:\n30,x,2005-09-06\n4,5,2005-09-06\n", "line 2 has something else than whole numbers"),
        ("1:\n30,,2005-09-06\n4,5,2005-09-06\n", "line 2 has something else"),
        ("1:\n99999999999999999999,1,2005-09-06\n", "line 2 has something else"),
        ("1:\n4\t3\t10\t00:00:00\n", "line 2 is no header"),
        ("1|2\n3\t3\t10\t00:00:00\n2|1\n4\t3\t10\t00:00:00\n", "header in line 1 does not stand"),
        ("1|1\n3\t3\t10\t00:00:00\n4\t3\t10\t00:00:00\n2|0\n", "header in line 1 does not stand"),
        ("1|1\n3\t3\t10\t00:00:00\n2|2\n4\t3\t10\t00:00:00\n", "header in line 3 does not stand"),
        ("1|1\n3\t10\t00:00:00\n", "line 2 is no header and has not 4 fields"),
        (b"1:\n4,\xff,2005-09-06\n", "cannot be read to its end as lines of text"),
        ("1:\n4,1,2005\x0109-06\n", "cannot be read to its end"),
        ("1:\n", "the source has no rows"),
    ],
)
def test_damaged_files_are_refused_with_the_line_and_nothing_of_it(write, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read(write(text))
    assert "30" not in str(caught.value).replace(str(write(text)), "")


def test_a_second_file_must_have_a_header_too(write):
    write("3,2,2005-09-06\n", "mv_2.txt")
    path = write("1:\n30,3,2005-09-06\n5,4,2005-09-06\n", "mv_1.txt")
    with pytest.raises(DataError, match="begins with rows"):
        read(path.parent / "mv_*.txt")


def test_a_packed_file_that_was_cut_short(write):
    text = "1:\n" + "".join(f"{n},3,2005-09-06\n" for n in range(5000))
    with pytest.raises(DataError, match="cannot be read to its end"):
        read(write(gzip.compress(text.encode())[:-20]))


def test_rows_can_stay_on_disk(write, tmp_path):
    kept = read(write(YAHOO), scale=(0, 100), keep=tmp_path / "kept")
    assert (kept.n_users, kept.n_items) == (2, 2)
