# SPDX-License-Identifier: Apache-2.0
"""What leaves the curator is the exact sum plus noise of the stated law, for every contribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.contributions import REGISTRY
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator
from tacit.mechanisms.entropy import NoiseSource

from ..property.examples import User, block_of, examples, n_items_of  # noqa: TID252 - as the registry tests

pytestmark = pytest.mark.statistical

N_ITEMS = 60
EXAMPLES = examples(N_ITEMS)
DRAWS = 20_000
UNLIKELY = 1e-9


def released_noise(contribution, z):
    """(part, many draws of (released - exact) / (z * bound)), from one release after the other."""
    n = n_items_of(contribution)
    rng = np.random.default_rng(3)
    users = [
        User(np.sort(rng.permutation(n)[:size]), rng.integers(1, 6, size))
        for size in rng.integers(1, n, 20)
    ]
    block = block_of(users, n)
    exact = contribution(block)
    times = min(1_000, 400_000 // sum(part.size for part in contribution.parts))
    plan = Plan(
        tuple(
            Release(f"r.{p.name}", p.l2, z * p.l2, times=times, size=p.size, cone=p.cone)
            for p in contribution.parts
        )
    )
    public = Public(n_users=len(users), n_items=n, low=1, high=5, mu=plan.mu)
    curator = DataCurator(LocalThreads(block, threads=1), public, plan, NoiseSource())
    answers = [curator.noisy_sum(contribution, "r") for _ in range(times)]
    for part in contribution.parts:
        draws = np.stack([answer[part.name] for answer in answers])
        yield part, (draws - part.step * exact[part.name]) / (z * part.l2)


def diagonal(packed):
    rank = math.isqrt(2 * packed)
    return np.cumsum([0, *range(rank, 1, -1)])


def check_law(draws, std):
    """Accept normal noise of this std; reject it at 1.3 times and at 1/1.3 of it."""
    sample = draws.ravel()[:DRAWS]
    assert stats.kstest(sample, "norm", args=(0, std)).pvalue > UNLIKELY
    variance, six_sigma = float(np.mean(sample**2)), 6.5 * math.sqrt(2 / len(sample))
    assert abs(variance / std**2 - 1) < six_sigma
    for wrong in (1.3 * std, std / 1.3):
        assert abs(variance / wrong**2 - 1) > six_sigma


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.parametrize("z", [0.7, 40.0])
def test_noise_law_of_every_contribution(name, z):
    for contribution in EXAMPLES[name][:2]:
        for part, noise in released_noise(contribution, z):
            if not part.symmetric:
                check_law(noise, 1.0)
                continue
            on = diagonal(part.shape[-1])
            off = np.setdiff1d(np.arange(part.shape[-1]), on)
            check_law(noise[..., on], 1.0)
            if len(off):
                check_law(noise[..., off], 1 / math.sqrt(2))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_releases_share_no_noise(name):
    """Neighbouring releases, and the parts of one release, are uncorrelated."""
    for _, noise in released_noise(EXAMPLES[name][0], 5.0):
        one, next_one = noise[:-1].ravel(), noise[1:].ravel()
        correlation = float(np.corrcoef(one, next_one)[0, 1])
        assert abs(correlation) < 6.5 / math.sqrt(len(one))
