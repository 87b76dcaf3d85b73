# SPDX-License-Identifier: Apache-2.0
"""The data sets that everybody publishes on, from a copy of one's own: nothing is downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.data.errors import DataError
from tacit.data.files import paths_of
from tacit.data.read import read
from tacit.datasets.webscope import artist_names, open_webscope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tacit.data.ratings import Ratings
    from tacit.data.rows import Stream

PLACE = "TACIT_DATA"


@dataclass(frozen=True, slots=True)
class PublicSet:
    """How one set comes from its publisher.

    folders: names that its folder may have. ratings: files or patterns, of which the first that is
    there is read. catalogue: likewise, all items with their titles; none where items have none.
    parts: likewise for what its publisher has kept apart from the ratings to train on.
    opened, listed: what makes rows, and a catalogue, of such files where `tacit.read` does not know
    their format.
    """

    folders: tuple[str, ...]
    ratings: tuple[str, ...]
    catalogue: tuple[str, ...]
    scale: tuple[float, float]
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    opened: Callable[[Sequence[Path]], Stream] | None = None
    listed: Callable[[Path], Any] | None = None

    def files_of(self, part: str) -> tuple[str, ...]:
        """Those of a part, or of all ratings to train on."""
        return self.ratings if part == "train" else self.parts.get(part, ())


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
        listed=_movie_titles,
    ),
    "yahoo-music": PublicSet(
        ("yahoo-music", "track1"),
        ("trainIdx1.txt", "trainIdx1.txt.gz"),
        (),
        (0, 100),
        parts={"validation": ("validationIdx1.txt", "validationIdx1.txt.gz")},
    ),
    "yahoo-r1": PublicSet(
        ("yahoo-r1", "Webscope_R1", "ydata-ymusic-user-artist-ratings-v1_0"),
        ("ydata-ymusic-user-artist-ratings-v1_0.txt*",),
        ("ydata-ymusic-artist-names-v1_0.txt",),
        (0, 100),
        opened=open_webscope,
        listed=artist_names,
    ),
    "yahoo-r2": PublicSet(
        ("yahoo-r2", "Webscope_R2", "ydata-ymusic-user-song-ratings-meta-v1_0"),
        ("train_[0-9].txt*", "*-train_[0-9].txt*"),
        (),
        (1, 5),
        parts={"test": ("test_[0-9].txt*", "*-test_[0-9].txt*")},
        opened=open_webscope,
    ),
}


def load(
    name: str, folder: str | Path | None = None, *, part: str = "train", **options: Any
) -> Ratings:
    """Read a public data set in the format in which its publisher gives it.

    Args:
        name: "ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m" (MovieLens), "netflix" (the prize's
            training set, in a file for each movie or in four parts), "yahoo-music" (KDD Cup 2011,
            track 1, also Webscope C15), "yahoo-r1" (Webscope R1, artists; "never play again" is
            rated 0), "yahoo-r2" (Webscope R2, songs, in ten files).
        folder: where its files lie; if none is given, it is looked for under its usual names in
            the folder that the environment variable TACIT_DATA names.
        part: "train", or what else its publisher gives with ratings: "validation" (yahoo-music),
            "test" (yahoo-r2). Read it with the catalogue of the training part as `items=`.
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
    if "items" not in options and (listed := _there(place, known.catalogue)):
        options["items"] = known.listed(listed) if known.listed else listed
    if "items" not in options and (listed := _there(place, _CONVERTED_CATALOGUE)):
        options["items"] = listed
    found = _there(place, known.files_of(part))
    if found is None and part == "train":
        return read(_there(place, _CONVERTED), **options)
    if found is None:
        there = ", ".join(["train", *known.parts])
        wanted = " or ".join(known.files_of(part)) or "no file of that name"
        raise DataError(f"no part {part!r} of {name!r} ({there}) in {str(place)!r}: {wanted}")
    return read(known.opened(paths_of(found)) if known.opened else found, **options)


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
