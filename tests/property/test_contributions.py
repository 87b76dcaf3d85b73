# SPDX-License-Identifier: Apache-2.0
"""Bounded and additive, for every contribution: together they are user-level sensitivity."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tacit.contributions
from tacit.contributions import REGISTRY, Contribution, ItemSums, Part, Rows, UserMetric

from .examples import MANY_ITEMS, User, adversaries, block_of, examples, n_items_of

FEW_ITEMS = 40
LARGE = examples(MANY_ITEMS)
SMALL = examples(FEW_ITEMS)


def named(table):
    return [
        pytest.param(each, id=f"{name}-{i}")
        for name, instances in table.items()
        for i, each in enumerate(instances)
    ]


def norm_squared(part: Part, share: np.ndarray) -> int:
    """The exact square of a share's norm, in grid steps; Frobenius where the part is symmetric."""
    assert share.dtype == np.int64
    assert share.shape == part.shape
    total = sum(q * q for q in share[share != 0].tolist())
    if not part.symmetric:
        return total
    rank = math.isqrt(2 * part.shape[-1])
    diagonal = np.cumsum([0, *range(rank, 1, -1)])
    return 2 * total - sum(q * q for q in share[..., diagonal].ravel().tolist())


def check_bounded(contribution: Contribution, users: dict[str, User]) -> dict[str, float]:
    """Every user is inside every bound; how near the nearest came to each."""
    reached = dict.fromkeys((part.name for part in contribution.parts), 0.0)
    for name, user in users.items():
        shares = contribution(block_of([user], n_items_of(contribution)))
        for part in contribution.parts:
            squared = norm_squared(part, shares[part.name])
            assert squared <= part.limit**2, f"{name} exceeds the bound of {part.name}"
            reached[part.name] = max(reached[part.name], math.sqrt(squared) / part.limit)
    return reached


def concrete_contributions() -> set[type]:
    package = tacit.contributions
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    ]
    return {
        each
        for module in modules
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Contribution) and not inspect.isabstract(each)
    }


def test_registry_and_examples_miss_no_contribution():
    assert set(REGISTRY.values()) == concrete_contributions()
    assert all(name == each.__name__ for name, each in REGISTRY.items())
    for table in (LARGE, SMALL):
        assert table.keys() == REGISTRY.keys()
        for name, instances in table.items():
            assert len(instances) >= 2
            assert {type(each) for each in instances} == {REGISTRY[name]}


@pytest.mark.parametrize("contribution", named(LARGE))
def test_bounded_and_tight(contribution):
    """No user exceeds a bound, and some user comes near: a bound twice too large is a fault too."""
    reached = check_bounded(contribution, adversaries(contribution))
    assert all(share >= 0.9 for share in reached.values()), reached


OWN_LEVELS = [0.0, 2.0**-21, 0.01, 0.3, 0.5, 1 - 2.0**-24]


def check_level(contribution: Contribution, users: dict[str, User], level: float) -> None:
    """At her own level every user is inside that part of every bound, and not far inside."""
    level = float(np.float32(level))
    n = n_items_of(contribution)
    reached = dict.fromkeys((part.name for part in contribution.parts), 0.0)
    at_most = check_bounded(contribution, users)
    for name, user in users.items():
        shares = contribution(block_of([user], n, [level]))
        for part in contribution.parts:
            squared = norm_squared(part, shares[part.name])
            assert squared <= (Fraction(level) * part.limit) ** 2, f"{name} exceeds {part.name}"
            reached[part.name] = max(reached[part.name], math.sqrt(squared) / part.limit)
    if level >= 0.3:
        assert all(reached[name] >= 0.95 * level * whole for name, whole in at_most.items())


@pytest.mark.parametrize("level", OWN_LEVELS)
@pytest.mark.parametrize("contribution", named(SMALL))
def test_a_user_s_own_level_scales_her_bound(contribution, level):
    check_level(contribution, adversaries(contribution), level)


@pytest.mark.parametrize("contribution", named(SMALL))
def test_levels_of_one_change_nothing_and_each_user_has_her_own(contribution):
    n = n_items_of(contribution)
    everyone = crowd(n, 6, seed=9)
    assert equal(contribution(block_of(everyone, n, [1] * 6)), contribution(block_of(everyone, n)))
    own = [1.0, 0.5, 0.0, 0.25, 1.0, 0.75]
    whole = contribution(block_of(everyone, n, own))
    one_by_one = contribution.zeros()
    for user, level in zip(everyone, own, strict=True):
        contribution.add(block_of([user], n, [level]), one_by_one)
    assert equal(whole, one_by_one)


@pytest.mark.parametrize("contribution", named(SMALL))
def test_no_ratings_weigh_nothing(contribution):
    """What zero-out adjacency means: a user without ratings is a user who is not there."""
    nobody = User(np.zeros(0), np.zeros(0))
    sums = contribution(block_of([nobody, nobody], n_items_of(contribution)))
    assert all(not total.any() for total in sums.values())


@pytest.mark.parametrize("contribution", named(SMALL))
def test_parts_are_as_declared(contribution):
    sums = contribution.zeros()
    assert len(sums) == len(contribution.parts)
    for part in contribution.parts:
        assert sums[part.name].shape == part.shape
        assert sums[part.name].size == part.size
        assert part.l2 == pytest.approx(part.limit * part.step)
        # Sums over 10^8 users fit int64 with room for the noise.
        assert part.limit * 10**8 < 2**62
        # Packed matrices need isometric noise; only they and sums of positive numbers are cones.
        assert part.symmetric == (part.name in {"gram", "covariance"})
        positive = isinstance(contribution, UserMetric)
        positive = positive or part.name in {"chance", "count", "energy"}
        assert part.cone == (part.symmetric or positive)


@st.composite
def users(draw, n_items=FEW_ITEMS, most=6):
    """Some users with rows of any length, including none, and any values."""
    values = st.one_of(
        st.sampled_from([1.0, 2.0, 3.0, 3.5, 5.0]),
        st.floats(width=32),
    )
    drawn = []
    for _ in range(draw(st.integers(0, most))):
        items = draw(st.lists(st.integers(0, n_items - 1), unique=True, max_size=12))
        row = draw(st.lists(values, min_size=len(items), max_size=len(items)))
        drawn.append(User(np.array(items, np.int32), np.array(row, np.float32)))
    return drawn


def equal(a, b) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def plus(a, b):
    return {name: a[name] + b[name] for name in a}


@pytest.mark.parametrize("contribution", named(SMALL))
@given(data=st.data())
def test_additive(contribution, data):
    """f(A + B) == f(A) + f(B), exactly, for any split and any order of the users."""
    n = n_items_of(contribution)
    everyone = data.draw(users())
    everyone = [User(u.items[u.items < n], u.values[u.items < n]) for u in everyone]
    shuffled = data.draw(st.permutations(everyone))
    cut = data.draw(st.integers(0, len(everyone)))
    whole = contribution(block_of(everyone, n))
    halves = plus(
        contribution(block_of(shuffled[:cut], n)), contribution(block_of(shuffled[cut:], n))
    )
    assert equal(whole, halves)

    one_by_one = contribution.zeros()
    for user in everyone:
        contribution.add(block_of([user], n), one_by_one)
    assert equal(whole, one_by_one)


def crowd(n_items: int, size: int, seed: int) -> list[User]:
    """Ordinary users."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(1 / 20, size), n_items)
    return [
        User(rng.permutation(n_items)[:k].astype(np.int32), rng.integers(1, 6, k)) for k in sizes
    ]


def check_sensitivity(contribution: Contribution, others: list[User]) -> None:
    """With public inputs fixed, zeroing one user's row moves each part by its bound at most."""
    n = n_items_of(contribution)
    nobody = User(np.zeros(0), np.zeros(0))
    middle = len(others) // 2
    before, after = others[:middle], others[middle:]
    without = contribution(block_of([*before, nobody, *after], n))
    for name, user in adversaries(contribution).items():
        with_her = contribution(block_of([*before, user, *after], n))
        for part in contribution.parts:
            moved = with_her[part.name] - without[part.name]
            assert norm_squared(part, moved) <= part.limit**2, f"{name} moves {part.name} too far"
        assert equal(with_her, plus(without, contribution(block_of([user], n))))


@pytest.mark.parametrize("contribution", named(SMALL))
def test_one_user_moves_nothing_but_her_own_share(contribution):
    check_sensitivity(contribution, crowd(n_items_of(contribution), 30, seed=3))


@pytest.mark.parametrize("contribution", named(SMALL))
def test_shares_of_cones_never_point_away_from_each_other(contribution):
    """What lets replace-one adjacency cost sqrt(2) instead of 2 for such a part."""
    n = n_items_of(contribution)
    cones = [part for part in contribution.parts if part.cone]
    everyone = [*adversaries(contribution).values(), *crowd(n, 10, seed=5)]
    shares = [contribution(block_of([user], n)) for user in everyone]
    for part in cones:
        table = np.array([share[part.name].ravel() for share in shares], dtype=np.float64)
        if part.symmetric:
            rank = math.isqrt(2 * part.shape[-1])
            twice = np.full(part.shape[-1], math.sqrt(2))
            twice[np.cumsum([0, *range(rank, 1, -1)])] = 1
            table *= np.broadcast_to(twice, part.shape).ravel()
        table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1)
        assert (table @ table.T).min() >= -1e-9


@pytest.mark.parametrize("contribution", named(SMALL))
def test_contributions_are_frozen_values_that_show_no_arrays(contribution):
    field = dataclasses.fields(contribution)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(contribution, field, None)
    assert hash(contribution) == hash(contribution)
    assert "array" not in repr(contribution)
    before = repr(contribution)
    contribution(block_of(crowd(n_items_of(contribution), 3, seed=1), n_items_of(contribution)))
    assert repr(contribution) == before


# The checks above must be able to fail: three classical mistakes, each caught.


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class MeanOverUsers(ItemSums):
    """Mistake: a normaliser over the users of the block, which one heavy user moves for all."""

    def add(self, block, sums):
        mean = max(len(block.items) / max(block.n_users, 1), 1.0)
        ItemSums(self.n_items, Rows(20 / mean), self.row_bound).add(block, sums)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NoClip(ItemSums):
    """Mistake: the values are not cut."""

    def add(self, block, sums):
        finite = np.clip(np.nan_to_num(block.values), -(2.0**20), 2.0**20)
        np.add.at(sums["sum"], block.items, np.rint(finite * 2**20).astype(np.int64))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Twice(ItemSums):
    """Mistake: a share is added twice."""

    def add(self, block, sums):
        for _ in range(2):
            ItemSums.add(self, block, sums)


def test_the_check_of_levels_catches_a_share_that_forgets_them():
    faulty = NoClip(FEW_ITEMS, Rows(clip=1.0), 2.0**22)  # large enough for what it does not cut
    with pytest.raises(AssertionError, match="exceeds"):
        check_level(faulty, {"all": User(np.arange(40), np.full(40, 2.0**20))}, 0.5)


@pytest.mark.parametrize("mistake", [MeanOverUsers, NoClip, Twice])
def test_sensitivity_check_catches(mistake):
    faulty = mistake(FEW_ITEMS, Rows(clip=1.0), 1.0)
    ordinary = [user for user in crowd(FEW_ITEMS, 30, seed=3) if len(user.items)]
    with pytest.raises(AssertionError):
        check_sensitivity(faulty, ordinary)
