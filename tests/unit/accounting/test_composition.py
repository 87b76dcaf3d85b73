# SPDX-License-Identifier: Apache-2.0
"""Composition, replace-one adjacency with Lemma J, and the numerical part of epsilon."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr

from tacit.accounting import composition, gdp
from tacit.accounting.release import Plan, Release


def least_squares(gram_times, rhs_times, *, gram_std=2.0, rhs_std=3.0):
    return (
        Release("gram", 1.0, gram_std, gram_times, cone=True),
        Release("rhs", 1.5, rhs_std, rhs_times, partner="gram"),
    )


def test_squares_of_mu_add_up():
    plan = Plan((Release("a", 3.0, 2.0, 4), Release("b", 1.0, 0.5)))
    assert plan.mu == pytest.approx(math.sqrt(4 * 1.5**2 + 2.0**2), rel=1e-15)
    assert plan.epsilon(1e-5) == pytest.approx(gdp.epsilon(1e-5, plan.mu), rel=1e-12)


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 999)), min_size=1, max_size=9),
    st.floats(1e-12, 0.1),
)
def test_composed_epsilon_holds_in_exact_arithmetic(rows, delta):
    plan = Plan(tuple(Release(str(i), 1.0, std, times) for i, (std, times) in enumerate(rows)))
    epsilon = plan.epsilon(delta)
    with mp.workdps(60):
        mu = mp.sqrt(sum(times / mp.mpf(std) ** 2 for std, times in rows))
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        exact = (mp.erfc(a / mp.sqrt(2)) - mp.exp(epsilon) * mp.erfc(b / mp.sqrt(2))) / 2
        assert exact <= delta


def test_replacing_costs_root_2_on_cones_and_2_elsewhere():
    cone = Plan((Release("a", 1.0, 2.0, 3, cone=True),))
    other = Plan((Release("a", 1.0, 2.0, 3),))
    assert cone.mu_replace == pytest.approx(math.sqrt(2) * cone.mu, rel=1e-14)
    assert other.mu_replace == pytest.approx(2 * other.mu, rel=1e-14)


# privacy.md, Lemma J: (a, b) and replace-one mu^2, beside what separate pricing would give.
LEMMA_J = [(1, 1, 4.5, 6), (1, 4, 16, 18), (1, 0.5, 3.125, 4), (2, 1, 6.25, 8)]


@pytest.mark.parametrize(("a", "b", "joint", "separate"), LEMMA_J)
def test_lemma_j_figures(a, b, joint, separate):
    assert composition.joint_replace(a, b) == pytest.approx(joint, rel=1e-15)
    assert 2 * a + 4 * b == separate


def replaced_distance(parameters, a, b, items, rank):
    """mu^2 between two users' shares in noise units, each within all of the clips."""
    shape = (2, items)
    cut = np.split(parameters, [2 * rank, 2 * rank + 2 * items])
    u = cut[0].reshape(2, rank)
    u = u / np.maximum(1, np.linalg.norm(u, axis=1))[:, None]
    w = np.abs(cut[1].reshape(shape))
    w = w / np.maximum(1, np.linalg.norm(w, axis=1))[:, None]
    ratings = np.clip(cut[2].reshape(shape), -1, 1)
    gram = np.einsum("pj,pa,pb->pjab", w, u, u)
    rhs = np.einsum("pj,pa->pja", w * ratings, u)
    return a * np.sum((gram[0] - gram[1]) ** 2) + b * np.sum((rhs[0] - rhs[1]) ** 2)


@pytest.mark.parametrize(
    ("a", "b"), [*[(a, b) for a, b, _, _ in LEMMA_J], (0.3, 0.05), (1, 2), (1, 2.5)]
)
def test_no_pair_of_users_exceeds_lemma_j_and_some_pair_attains_it(a, b, rng):
    items, rank = 2, 2
    best = 0.0
    for _ in range(12):
        start = rng.normal(size=2 * rank + 4 * items) * 1.5
        found = minimize(
            lambda x: -replaced_distance(x, a, b, items, rank),
            start,
            method="Nelder-Mead",
            options={"maxiter": 1500, "maxfev": 1500, "fatol": 1e-10, "xatol": 1e-8},
        )
        best = max(best, -found.fun)
    bound = composition.joint_replace(a, b)
    assert best <= bound * (1 + 1e-9)
    assert best >= bound * (1 - 1e-3)


def test_without_a_clip_on_each_value_lemma_j_would_not_hold():
    """A norm clip alone lets a light item carry a huge value; proofs/accounting.md says so."""
    a, b, light = 1.0, 1.0, 1e-3
    heavy = math.sqrt(1 - light**2)
    weights = np.array([[light, heavy, 0], [light, 0, heavy]])  # items 1 and 2, items 1 and 3
    ratings = np.array([[1 / light, 0, 0], [-1 / light, 0, 0]])
    assert np.allclose(np.linalg.norm(weights * ratings, axis=1), 1)
    gram = a * np.sum((weights[0] - weights[1]) ** 2)
    rhs = b * np.sum((weights[0] * ratings[0] - weights[1] * ratings[1]) ** 2)
    assert gram + rhs > composition.joint_replace(a, b) + 1


def test_partners_pair_as_often_as_both_are_released():
    gram, rhs = least_squares(5, 3)
    a, b = gram.mu_squared_once, rhs.mu_squared_once
    assert composition.mu_replace((gram, rhs)) ** 2 == pytest.approx(
        3 * composition.joint_replace(a, b) + 2 * 2 * a, rel=1e-14
    )
    gram, rhs = least_squares(3, 5)
    assert composition.mu_replace((rhs, gram)) ** 2 == pytest.approx(
        3 * composition.joint_replace(a, b) + 2 * 4 * b, rel=1e-14
    )


def test_a_gram_pairs_with_one_right_hand_side_only():
    gram, rhs = least_squares(3, 3)
    second = Release("rhs 2", 1.5, 3.0, 3, partner="gram")
    alone = composition.mu_replace((gram, rhs)) ** 2
    assert composition.mu_replace((gram, rhs, second)) ** 2 == pytest.approx(
        alone + 4 * 3 * second.mu_squared_once, rel=1e-14
    )


@pytest.mark.parametrize("partner", [Release("gram", 1.0, 2.0, 3), None])
def test_a_partner_that_is_no_cone_or_was_not_released_does_not_pair(partner):
    rhs = Release("rhs", 1.5, 3.0, 3, partner="gram")
    spent = (rhs,) if partner is None else (rhs, partner)
    assert composition.mu_replace(spent) == pytest.approx(2 * composition.mu_zero_out(spent))


@given(
    st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(1, 9), st.integers(1, 9), st.booleans()
)
def test_replacing_costs_between_root_2_and_2(gram_std, rhs_std, gram_times, rhs_times, linked):
    gram, rhs = least_squares(gram_times, rhs_times, gram_std=gram_std, rhs_std=rhs_std)
    if not linked:
        rhs = Release("rhs", rhs.l2, rhs.std, rhs.times)
    mu, replaced = composition.mu_zero_out((gram, rhs)), composition.mu_replace((gram, rhs))
    assert math.sqrt(2) * mu * (1 - 1e-12) <= replaced <= 2 * mu * (1 + 1e-12)


def test_no_noise_is_infinite_under_both_adjacencies():
    for plan in (
        Plan((Release("a", 1.0, 0.0), Release("b", 1.0, 1.0))),
        Plan(least_squares(2, 2, gram_std=0.0)),
        Plan(least_squares(2, 2, rhs_std=0.0)),
        Plan(least_squares(2, 2)).scaled(0.0),
    ):
        assert plan.epsilon(1e-5) == math.inf
        assert plan.epsilon_replace(1e-5) == math.inf


def test_composed_epsilon_does_not_depend_on_the_order():
    releases = tuple(Release(str(i), 1.0, 0.1 + 1.7**i) for i in range(30))
    assert composition.mu_zero_out(releases) == composition.mu_zero_out(releases[::-1])


def test_numerical_part_is_twice_the_error_of_every_number():
    releases = (Release("a", 1.0, 9.0, 2, size=1000), Release("b", 1.0, 9.0, 1, size=10))
    assert composition.numerical_epsilon(releases, 1e-9) == pytest.approx(2 * 2010 * 1e-9)
    assert composition.numerical_epsilon(releases, 0.0) == 0.0


@pytest.mark.parametrize("relative_error", [1e-3, 3e-2])
def test_numerical_part_covers_the_worst_distortion_of_every_probability(relative_error):
    """Two numbers of rounded Gaussian noise, each probability off by the full error, adversarially.

    Independent of the proof: the true hockey-stick divergence of the distorted noise is summed.
    """
    std, shift, delta = 20.0, 14, 0.01
    lattice = np.arange(-200, 201)
    base = ndtr((lattice + 0.5) / std) - ndtr((lattice - 0.5) / std)
    releases = (Release("a", shift, std, 2),)
    claimed = composition.epsilon(releases, delta, relative_error=relative_error)
    p = np.outer(base, base) * (1 + relative_error) ** 2
    moved = np.roll(base, shift)
    q = np.outer(moved, moved) * (1 - relative_error) ** 2
    assert np.sum(np.maximum(p - math.exp(claimed) * q, 0)) <= delta
    bare = composition.epsilon(releases, delta)
    assert np.sum(np.maximum(p - math.exp(bare) * q, 0)) > delta


def test_numerical_part_that_swallows_delta_gives_infinity():
    releases = (Release("a", 1.0, 9.0, 10**6, size=10**6),)
    assert composition.epsilon(releases, 1e-5, relative_error=1e-3) == math.inf


@pytest.mark.parametrize("relative_error", [-1e-9, 1.0, math.nan])
def test_relative_error_must_make_sense(relative_error):
    with pytest.raises(ValueError, match="relative_error"):
        composition.numerical_epsilon((Release("a", 1.0, 1.0),), relative_error)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_make_sense(delta):
    with pytest.raises(ValueError, match="delta"):
        Plan((Release("a", 1.0, 1.0),)).epsilon(delta)


def test_a_huge_ratio_is_infinite_rather_than_an_overflow():
    assert Release("a", 1e200, 1e-200).mu_squared == math.inf


def test_weighted_least_squares_costs_as_k_unit_weights():
    """privacy.md B(iii): weights with sum of squares at most 1 replace `k items, weight 1`."""
    T, k, G, GM, sigma_G, sigma_g = 3, 50, 0.7, 2.0, 30.0, 15.0
    unit = math.sqrt(k)
    plain = Plan(
        (
            Release("gram", unit * G**2, G**2 * sigma_G, T, cone=True),
            Release("rhs", unit * G * GM, G * GM * sigma_g, T, partner="gram"),
        )
    )
    weighted = Plan(
        (
            Release("gram", G**2, G**2 * sigma_G, T, cone=True),
            Release("rhs", G * GM, G * GM * sigma_g, T, partner="gram"),
        )
    )
    assert weighted.mu**2 == pytest.approx(T * (1 / sigma_G**2 + 1 / sigma_g**2), rel=1e-14)
    assert plain.mu == pytest.approx(unit * weighted.mu, rel=1e-14)
    assert weighted.mu_replace**2 == pytest.approx(
        T * composition.joint_replace(1 / sigma_G**2, 1 / sigma_g**2), rel=1e-14
    )
