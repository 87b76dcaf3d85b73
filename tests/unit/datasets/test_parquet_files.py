# SPDX-License-Identifier: Apache-2.0
"""Made-up ratings in files are those in memory, in no order and split over the files."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.datasets import (
    movielens_blocks,
    movielens_like,
    netflix_blocks,
    netflix_like,
    write_parquet,
)
from tacit.datasets.movielens import _CHUNK

SHAPE = {"users": _CHUNK + 300, "items": 90, "ratings": 60_000}


@pytest.mark.parametrize("shape", ["movielens", "netflix"])
def test_the_blocks_are_the_ratings_of_the_whole(shape):
    if shape == "movielens":
        whole = movielens_like(**SHAPE, seed=2).block
        blocks = list(movielens_blocks(**SHAPE, seed=2))
    else:
        share = 0.0171
        whole = netflix_like(share, seed=2).block
        blocks = list(netflix_blocks(whole.n_users, 17_770, len(whole.items), seed=2))
    assert [block.first for block in blocks] == [0, _CHUNK]
    for block in blocks:
        block.check()
        same = whole.rows(block.first, block.first + block.n_users)
        for name in ("indptr", "items", "values"):
            np.testing.assert_array_equal(getattr(block, name), getattr(same, name))


def test_files_read_as_the_ratings_that_went_into_them(tmp_path):
    made = movielens_like(**SHAPE)
    paths = write_parquet(movielens_blocks(**SHAPE), tmp_path / "rows", files=5)
    assert sorted((tmp_path / "rows").iterdir()) == paths
    sizes = [pq.read_metadata(path).num_rows for path in paths]
    assert min(sizes) > 0.18 * sum(sizes)
    users = pq.read_table(paths[0])["user"].to_numpy()
    assert np.mean(np.diff(users) < 0) > 0.4  # in no order
    read = tacit.read(tmp_path / "rows", items=range(1, 91), scale=(0.5, 5))
    assert read.user_ids.tolist() == made.user_ids.tolist()
    for name in ("indptr", "items", "values"):
        np.testing.assert_array_equal(getattr(read.block, name), getattr(made.block, name))


def test_a_file_may_get_nothing(tmp_path):
    paths = write_parquet(movielens_blocks(3, 2, 3), tmp_path / "rows", files=40)
    assert sum(pq.read_metadata(path).num_rows for path in paths) == 3


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty; name a new folder"):
        write_parquet(movielens_blocks(3, 2, 3), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
