# SPDX-License-Identifier: Apache-2.0
"""The data sets that everybody publishes on, from a copy of one's own: nothing is downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.data.errors import DataError
from tacit.data.files import paths_of
from tacit.data.read import read

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

PLACE = "TACIT_DATA"


@dataclass(frozen=True, slots=True)
class PublicSet:
    """How one set comes from its publisher.

    folders: names that its folder may have. ratings: files or patterns, of which the first that is
    there is read. catalogue: likewise, all items with their titles; none where items have none.
    """

    folders: tuple[str, ...]
    ratings: tuple[str, ...]
    catalogue: tuple[str, ...]
    scale: tuple[float, float]


# After the publisher's files, what somebody may have made of them.
_CONVERTED = ("ratings.parquet",)
_CONVERTED_CATALOGUE = ("items.parquet",)

SETS = {
    "ml-100k": PublicSet(("ml-100k",), ("u.data",), ("u.item",), (1, 5)),
    "ml-1m": PublicSet(("ml-1m",), ("ratings.dat",), ("movies.dat",), (1, 5)),
    "ml-10m": PublicSet(("ml-10m", "ml-10M100K"), ("ratings.dat",), ("movies.dat",), (0.5, 5)),
    "ml-20m": PublicSet(("ml-20m",), ("ratings.csv",), ("movies.csv",), (0.5, 5)),
    "ml-25m": PublicSet(("ml-25m",), ("ratings.csv",), ("movies.csv",), (0.5, 5)),
    "netflix": PublicSet(
        ("netflix", "nf_prize_dataset"),
        ("training_set/mv_*.txt", "mv_*.txt", "combined_data_*.txt"),
        ("movie_titles.txt", "movie_titles.csv"),
        (1, 5),
    ),
    "yahoo-music": PublicSet(
        ("yahoo-music", "track1"), ("trainIdx1.txt", "trainIdx1.txt.gz"), (), (0, 100)
    ),
}


def load(name: str, folder: str | Path | None = None, **options: Any) -> Ratings:
    """Read a public data set in the format in which its publisher gives it.

    Args:
        name: "ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m" (MovieLens), "netflix" (the prize's
            training set, in a file for each movie or in four parts), "yahoo-music" (KDD Cup 2011,
            track 1, also Webscope C15).
        folder: where its files lie; if none is given, it is looked for under its usual names in
            the folder that the environment variable TACIT_DATA names.
        options: of `tacit.read`. The scale is the publisher's; so is the catalogue, where a file
            lists the titles, and otherwise it is every item that was rated.

    Raises:
        DataError: there is no such set, no copy of it, or a damaged one.
    """
    place = find(name, folder)
    if place is None:
        raise DataError(_absent(name, folder))
    known = SETS[name]
    options = {"scale": known.scale} | options
    listed = _there(place, known.catalogue + _CONVERTED_CATALOGUE)
    if listed is not None and "items" not in options:
        options["items"] = _movie_titles(listed) if listed.stem == "movie_titles" else listed
    return read(_there(place, known.ratings + _CONVERTED), **options)


def find(name: str, folder: str | Path | None = None) -> Path | None:
    """The folder of a set, if there is a copy of it."""
    if name not in SETS:
        raise DataError(f"no data set is called {name!r}; there are {', '.join(SETS)}")
    known = SETS[name]
    if folder is None:
        root = Path(os.environ.get(PLACE) or "/nowhere").expanduser()
        places = [root / each for each in known.folders]
    else:
        places = [Path(folder).expanduser()]
    return next((each for each in places if _there(each, known.ratings + _CONVERTED)), None)


def _there(place: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these files or patterns that a folder has."""
    return next((place / name for name in names if paths_of(place / name)), None)


def _absent(name: str, folder: str | Path | None) -> str:
    known = SETS[name]
    where = (
        f"set {PLACE} to the folder that holds {known.folders[0]}/"
        if folder is None
        else f"{str(folder)!r} holds none"
    )
    return f"no copy of {name!r}: {where}, with {' or '.join(known.ratings)} in it"


def _movie_titles(path: Path) -> pa.Table:
    """Netflix' lines are number, year, title; titles have commas, and letters of Latin-1."""
    lines = path.read_text(encoding="latin-1").splitlines()
    fields = [line.split(",", 2) for line in lines]
    for number, each in enumerate(fields, start=1):
        if len(each) != 3 or not each[0].isdecimal():
            raise DataError(f"{str(path)!r}: line {number} is not a movie's number, year and title")
    return pa.table(
        {
            "item": [int(number) for number, _, _ in fields],
            "title": [title for _, _, title in fields],
        }
    )
