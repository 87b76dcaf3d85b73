# SPDX-License-Identifier: Apache-2.0
"""Langevin steps sample from exp(-F / temperature), however lazily the noise is added."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data.block import UserBlock
from tacit.descent import Descent, State, chunks, in_memory
from tacit.descent.chunks import Survey
from tacit.mechanisms.entropy import SeededSource

pytestmark = pytest.mark.statistical

N_USERS, N_ITEMS, RANK = 40, 600, 32
RIDGE, TEMPERATURE, RATE = 2.0, 0.002, 0.002


@pytest.fixture
def ratings(rng):
    """All of 0; item j is rated by 4, 8, .. or 40 users, so that some wait long for their noise."""
    counts = 4 * (1 + np.arange(N_ITEMS) % 10)
    rated = np.array([rng.permutation(N_USERS) < count for count in counts]).T
    indptr = np.concatenate([[0], np.cumsum(rated.sum(axis=1))]).astype(np.int64)
    items = np.nonzero(rated)[1].astype(np.int32)
    return UserBlock(indptr, items, np.zeros(len(items), np.float32), N_ITEMS), counts


def sampled(block, monkeypatch, *, users_per_chunk, temperature=TEMPERATURE):
    """Item rows after the chain has forgotten its start (its slowest rate is rate * 4 * ridge)."""
    monkeypatch.setattr(chunks, "USERS_PER_CHUNK", users_per_chunk)
    data = in_memory([block], Survey.of([block], N_ITEMS), "deterministic")
    state = State.first(N_USERS, data.numbering.rows, RANK, seed=3)
    descent = Descent(400, RATE, 0.0, RIDGE, temperature)
    descent.run(data, state, threads=1, source=SeededSource(users_per_chunk))
    return state.V[data.numbering.row_of, :RANK]


def ratios(V, counts):
    """Variance over its law's, for items of each number of ratings.

    Where all ratings are 0 and factors are small, F is ridge * count * |v|^2 / 2 for an item, plus
    what is of fourth order.
    """
    each = np.unique(counts)
    return np.array([V[counts == n].var() * RIDGE * n / TEMPERATURE for n in each])


WITHIN = 5 * np.sqrt(2 / (N_ITEMS * RANK)) + 0.01  # five standard deviations, and the step size


@pytest.mark.parametrize("users_per_chunk", [N_USERS, 5])
def test_the_stationary_variance_is_that_of_the_posterior(ratings, monkeypatch, users_per_chunk):
    """In one chunk, and in 8, of which many items are missing: 1,920 numbers to each ratio."""
    block, counts = ratings
    found = ratios(sampled(block, monkeypatch, users_per_chunk=users_per_chunk), counts)
    np.testing.assert_allclose(found, 1, atol=5 * np.sqrt(2 / 1920) + 0.01)
    assert abs(found.mean() - 1) < WITHIN


def test_the_test_would_notice_a_wrong_temperature(ratings, monkeypatch):
    block, counts = ratings
    for factor in (1 / 1.3, 1.3):
        V = sampled(block, monkeypatch, users_per_chunk=5, temperature=factor * TEMPERATURE)
        assert abs(ratios(V, counts).mean() - 1) > 3 * WITHIN


def test_numbers_are_normal_and_rows_independent(ratings, monkeypatch):
    block, counts = ratings
    V = sampled(block, monkeypatch, users_per_chunk=5)
    z = V / np.sqrt(np.array([V[counts == count].var() for count in counts]))[:, None]
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / z.size)
    neighbours = (z[1:] * z[:-1]).mean()
    assert abs(neighbours) < 5 / np.sqrt(z.size)
