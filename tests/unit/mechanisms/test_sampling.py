# SPDX-License-Identifier: Apache-2.0
"""Secret samples: drawn anew for each release, the same for every engine, at the stated rate."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tacit.accounting.public import Public
from tacit.accounting.release import Plan, Release
from tacit.accounting.subsampled import curve
from tacit.contributions import ItemCounts, Rows
from tacit.data.block import UserBlock
from tacit.engines.local import LocalThreads
from tacit.mechanisms.curator import DataCurator, SumError
from tacit.mechanisms.entropy import NoiseSource, SeededSource, keyed_words
from tacit.mechanisms.sampling import Sampled

N_USERS = 400
# User u rated item u and nothing else, so that a sum of counts tells who entered.
EACH_HER_OWN = UserBlock(
    np.arange(N_USERS + 1, dtype=np.int64),
    np.arange(N_USERS, dtype=np.int32),
    np.ones(N_USERS, np.float32),
    N_USERS,
)
PUBLIC = Public(n_users=N_USERS, n_items=N_USERS, low=0, high=1, mu=1.0)
COUNTS = ItemCounts(N_USERS, Rows())


def curator(rate, *, seed=1, times=100, std=0.0, **engine):
    release = Release(
        "counts.count", 1.0, std, times, size=N_USERS, cone=True, sample_rate=rate
    )  # fmt: skip
    users = LocalThreads(EACH_HER_OWN, **{"threads": 1, **engine})
    return DataCurator(users, PUBLIC, Plan((release,)), SeededSource(seed))


def entered(the_curator):
    found = the_curator.noisy_sum(COUNTS, "counts")["count"]
    assert set(np.unique(found.round(4))) <= {0.0, 1.0}
    return found > 0.5


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_users_enter_at_the_stated_rate_independently_of_each_other_and_of_other_releases(rate):
    the_curator = curator(rate)
    table = np.array([entered(the_curator) for _ in range(100)])
    spread = math.sqrt(rate * (1 - rate))
    assert abs(table.mean() - rate) < 5 * spread / math.sqrt(table.size)
    # Neither users nor releases go together: all sums of products have the variance of chance.
    z = (table - rate) / spread
    for products in (z @ z.T / math.sqrt(N_USERS), z.T @ z / math.sqrt(len(z))):
        apart = products[~np.eye(len(products), dtype=bool)]
        assert np.abs(apart).max() < 0.9 * products.diagonal().mean()  # no two share their coins
        # The fewer of users and releases limit how well a variance of products is known.
        assert np.var(apart) == pytest.approx(1, abs=6 / math.sqrt(rate * (1 - rate) * 100 * 100))


def test_threads_and_blocks_agree_on_who_enters():
    one = curator(0.3)
    whole = [entered(one) for _ in range(3)]
    for threads, size in ((1, 1), (2, 7), (4, 64)):
        other = curator(0.3, threads=threads, ratings_per_block=size)
        for coins in whole:
            np.testing.assert_array_equal(entered(other), coins)
    assert not np.array_equal(whole[0], whole[1])
    assert not np.array_equal(whole[0], entered(curator(0.3, seed=2)))


def test_words_of_a_key_do_not_depend_on_how_they_are_asked_for():
    key = bytes(range(32))
    whole = keyed_words(key, 0, 101)
    for first, n in ((0, 1), (1, 1), (1, 2), (7, 33), (64, 37), (100, 1), (5, 0)):
        np.testing.assert_array_equal(keyed_words(key, first, n), whole[first : first + n])
    assert len(np.unique(whole)) == 101
    assert not np.array_equal(keyed_words(bytes(32), 0, 101), whole)


def test_an_engine_that_numbers_nobody_draws_no_sample():
    class Unnumbered:
        n_users = N_USERS

        def total(self, contribution):
            return contribution(EACH_HER_OWN)

    plan = curator(0.3).plan
    the_curator = DataCurator(Unnumbered(), PUBLIC, plan, SeededSource(1))
    with pytest.raises(SumError, match="ValueError"):
        the_curator.noisy_sum(COUNTS, "counts")
    with pytest.raises(ValueError, match="must number its users"):
        Sampled(COUNTS, 0.3, bytes(32))(EACH_HER_OWN)


def test_the_coin_is_not_shown_and_travels_with_its_sum():
    sampled = Sampled(COUNTS, 0.3, b"secret" * 5 + b"ab")
    assert "secret" not in repr(sampled)
    numbered = replace(EACH_HER_OWN, first=0)
    there = pickle.loads(pickle.dumps(sampled))
    np.testing.assert_array_equal(there(numbered)["count"], sampled(numbered)["count"])


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "true"), [(1.0, True), (0.5, False)])
def test_the_best_attack_on_a_sample_gains_what_is_priced_and_no_more(noise, true):
    """One user alone: her presence is told from her absence by the likelihood ratio of mixtures."""
    rate, times, std, runs = 0.2, 40, 1.0, 600
    release = Release("counts.count", 1.0, std, times, cone=True, sample_rate=rate)
    claimed = float(curve((release,)).loss.get_delta_for_epsilon(0.0))
    ratios = {}
    for rows in ([1], [0]):
        values = np.ones(sum(rows), np.float32)
        block = UserBlock(np.array([0, *rows]), np.zeros(sum(rows), np.int32), values, 1)
        public = Public(n_users=1, n_items=1, low=0, high=1, mu=1.0)
        found = []
        for _ in range(runs):
            plan = Plan((replace(release, std=noise * std),))
            the_curator = DataCurator(LocalThreads(block, threads=1), public, plan, NoiseSource())
            question = ItemCounts(1, Rows())
            x = np.array(
                [the_curator.noisy_sum(question, "counts")["count"][0] for _ in range(times)]
            )
            s = noise * std  # what an attacker would measure
            found.append(np.log1p(rate * np.expm1((x - 0.5) / s**2)).sum())
        ratios[rows[0]] = np.array(found)
    gained = np.mean(ratios[1] > 0) - np.mean(ratios[0] > 0)
    error = math.sqrt(0.5 / runs)
    assert (gained <= claimed + 4 * error) == true
    assert gained >= claimed - 4 * error
