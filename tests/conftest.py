# SPDX-License-Identifier: Apache-2.0
"""Shared fixtures: seeded generators, the real data where it is, Hypothesis profiles."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=500)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260801)


def data_folder() -> Path | None:
    """Real ratings: beside the repository, else where TACIT_DATA points."""
    for place in (REPOSITORY.parent / "shared" / "data", os.environ.get("TACIT_DATA", "")):
        if place and Path(place).is_dir():
            return Path(place)
    return None


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = data_folder()
    if folder is None:
        pytest.skip("real data sets absent: set TACIT_DATA to the folder that holds ml-100k")
    return folder
