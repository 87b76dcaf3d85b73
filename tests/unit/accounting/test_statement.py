# SPDX-License-Identifier: Apache-2.0
"""The privacy statement: true, readable, and impossible to improve by editing the file."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import gdp
from tacit.accounting.calibrate import calibrate
from tacit.accounting.release import Plan, Release
from tacit.accounting.statement import PrivacyStatement

PLAN = Plan(
    (
        Release("item means", 1.0, 13.0, size=300),
        Release("gram", 1.0, 19.0, 4, size=36, cone=True),
        Release("right-hand sides", 3.0, 30.0, 4, size=2400, partner="gram"),
    )
)
SAMPLED = Plan((Release("gradient", 1.0, 2.0, 40, sample_rate=0.05),))
FACTS = {
    "delta": 1e-6,
    "n_users": 6040,
    "public": ("the item catalogue: every item of this source", "the rating scale 1 to 5"),
    "not_covered": ("the choice of hyper-parameters",),
    "noise_source": "AES-256-CTR keyed by the operating system",
    "relative_error": 1e-9,
    "version": "0.1.0",
}


def statement(plan=PLAN, **facts):
    return PrivacyStatement.of(plan.releases, **(FACTS | facts))


def edited(made, **changes):
    content = json.loads(made.to_json())
    content.update(changes)
    return json.dumps(content)


# --- figures -------------------------------------------------------------------------------------


def test_figures_are_those_of_the_releases():
    made = statement()
    assert made.epsilon == PLAN.epsilon(1e-6, 1e-9)
    assert made.epsilon_replace == PLAN.epsilon_replace(1e-6, 1e-9)
    assert made.mu == PLAN.mu
    assert made.mu_replace == PLAN.mu_replace
    assert made.rho == PLAN.mu**2 / 2
    assert made.numerical_epsilon == pytest.approx(2e-9 * (300 + 4 * 36 + 4 * 2400))
    assert made.epsilon > gdp.epsilon(1e-6, PLAN.mu) + made.numerical_epsilon * (1 - 1e-9)
    assert [(r.name, r.l2, r.std, r.times) for r in made.releases] == [
        ("item means", 1.0, 13.0, 1),
        ("gram", 1.0, 19.0, 4),
        ("right-hand sides", 3.0, 30.0, 4),
    ]


def test_words_are_fixed():
    made = statement()
    assert made.private is True
    assert made.guarantee == "joint differential privacy"
    assert made.unit == "user: all ratings of one user"
    assert made.adjacency == "zero-out"


def test_a_partly_spent_ledger_is_stated_as_it_was_spent():
    rhs = dataclasses.replace(PLAN["right-hand sides"], times=1)
    made = PrivacyStatement.of((rhs,), **FACTS)
    assert made.mu == pytest.approx(rhs.l2 / rhs.std)
    assert made.mu_replace == pytest.approx(2 * made.mu)
    assert PrivacyStatement.from_json(made.to_json()) == made


def test_sampling_lowers_epsilon_but_mu_is_stated_without_its_gain():
    made = statement(SAMPLED)
    assert made.mu == SAMPLED.mu
    assert made.epsilon < gdp.epsilon(1e-6, made.mu) / 2
    assert "without the gain of sampling" in str(made)
    assert "each user with probability 0.05" in str(made)


# --- not private ---------------------------------------------------------------------------------

BAD = {
    "no noise": (statement(PLAN.scaled(0.0)), "no noise on 'item means'"),
    "one bare release": (
        statement(Plan((*PLAN.releases, Release("count", 1.0, 0.0)))),
        "no noise on 'count'",
    ),
    "seeded": (statement(tainted="seeded noise"), "seeded noise"),
    "overwhelmed": (statement(Plan((Release("a", 1e200, 1e-200),))), "epsilon is infinite"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_private_says_so_first(name):
    made, why = BAD[name]
    assert made.private is False
    assert made.guarantee == "none"
    assert str(made).splitlines()[0].startswith(f"NOT PRIVATE: {why}")
    assert made.plain().startswith(f"NOT PRIVATE: {why}")
    field, value = next(iter(json.loads(made.to_json()).items()))
    assert field == "status"
    assert value.startswith(f"NOT PRIVATE: {why}")
    assert "joint differential privacy of" not in str(made)


@pytest.mark.parametrize("name", ["no noise", "one bare release"])
def test_no_noise_is_an_infinite_epsilon(name):
    made, _ = BAD[name]
    assert made.epsilon == math.inf
    assert json.loads(made.to_json())["epsilon"] == "infinity"
    assert "infinite" in str(made)


def test_seeded_noise_is_told_even_when_a_file_says_otherwise():
    text = edited(BAD["seeded"][0], status="private", private=True)
    with pytest.raises(ValueError, match="status"):
        PrivacyStatement.from_json(text)


# --- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made", [statement(), statement(SAMPLED), *[bad for bad, _ in BAD.values()]]
)
def test_a_statement_survives_its_file(made):
    assert PrivacyStatement.from_json(made.to_json()) == made


@given(
    st.lists(
        st.builds(
            Release,
            st.text(min_size=1, max_size=8),
            st.floats(1e-9, 1e9),
            st.floats(0, 1e9),
            st.integers(1, 1000),
            st.integers(1, 10**6),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda release: release.name,
    ),
    st.floats(1e-12, 0.5),
    st.lists(st.text(max_size=20), max_size=3),
)
def test_any_statement_survives_its_file_and_prints(releases, delta, public):
    made = PrivacyStatement.of(
        tuple(releases), **(FACTS | {"delta": delta, "public": tuple(public)})
    )
    assert PrivacyStatement.from_json(made.to_json()) == made
    assert str(made)
    assert made.plain()


def test_the_file_is_strict_json_and_starts_with_the_status():
    def refuse(constant):
        raise AssertionError(constant)

    content = json.loads(BAD["no noise"][0].to_json(), parse_constant=refuse)
    assert next(iter(content)) == "status"
    assert json.loads(statement().to_json())["status"] == "private"
    assert content["schema"] == "tacit.privacy-statement/1"
    assert set(content["releases"][0]) == {field.name for field in dataclasses.fields(Release)}


@pytest.mark.parametrize("field", json.loads(statement().to_json()))
def test_every_field_must_be_there(field):
    content = json.loads(statement().to_json())
    del content[field]
    with pytest.raises(ValueError, match=field):
        PrivacyStatement.from_json(json.dumps(content))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Release)])
def test_every_field_of_a_release_must_be_there(field):
    content = json.loads(statement().to_json())
    del content["releases"][1][field]
    with pytest.raises(ValueError, match=rf"releases\[1\].*{field}"):
        PrivacyStatement.from_json(json.dumps(content))


@pytest.mark.parametrize("field", json.loads(statement().to_json()))
@pytest.mark.parametrize("value", [None, {}, [3], "nonsense", True])
def test_every_wrong_type_is_named(field, value):
    if value is True and field == "private":
        value = 1
    if field in {"noise_source", "version", "tainted"} and value == "nonsense":
        value = 3.5
    with pytest.raises(ValueError, match=field):
        PrivacyStatement.from_json(edited(statement(), **{field: value}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("times", 1.0),
        ("times", 2**70),
        ("size", True),
        ("cone", 0),
        ("l2", "1"),
        ("std", None),
        ("std", True),
        ("partner", 3),
        ("name", None),
        ("sample_rate", [1.0]),
    ],
)
def test_every_wrong_type_in_a_release_is_named(field, value):
    content = json.loads(statement().to_json())
    content["releases"][0][field] = value
    with pytest.raises(ValueError, match=rf"releases\[0\].{field}"):
        PrivacyStatement.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extra": 1}, "unknown field 'extra'"),
        ({"schema": "tacit.privacy-statement/2"}, "schema"),
        ({"epsilon": 0.1}, "epsilon: the file says 0.1"),
        ({"epsilon_replace": 0.1}, "epsilon_replace: the file says"),
        ({"mu": 0.01}, "mu: the file says"),
        ({"mu_replace": 0.01}, "mu_replace: the file says"),
        ({"numerical_epsilon": 0.0}, "numerical_epsilon: the file says"),
        ({"rho": 0.1}, "rho"),
        ({"delta": 1e-3}, "epsilon: the file says"),
        ({"delta": 2.0}, "delta"),
        ({"delta": 10**400}, "delta: too large"),
        ({"n_users": 0}, "n_users"),
        ({"unit": "rating"}, "unit"),
        ({"adjacency": "replace-one"}, "adjacency"),
        ({"guarantee": "differential privacy"}, "guarantee"),
        ({"releases": []}, "releases"),
        ({"releases": 3}, "releases"),
        ({"releases": [3]}, r"releases\[0\]"),
        ({"public": ["a", 3]}, r"public\[1\]"),
        ({"relative_error": -1e-9}, "relative_error"),
    ],
)
def test_a_file_that_was_changed_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PrivacyStatement.from_json(edited(statement(), **changes))


@pytest.mark.parametrize("field", ["mu", "mu_replace", "numerical_epsilon"])
def test_a_sampled_statement_is_checked_as_far_as_is_cheap(field):
    with pytest.raises(ValueError, match=f"{field}: the file says"):
        PrivacyStatement.from_json(edited(statement(SAMPLED), **{field: 1e-4}))


def test_a_louder_noise_in_the_file_is_noticed():
    content = json.loads(statement().to_json())
    content["releases"][2]["std"] *= 2
    with pytest.raises(ValueError, match="its releases give"):
        PrivacyStatement.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "a JSON object"),
        ('{"epsilon": NaN}', "NaN"),
        ('{"epsilon": Infinity}', "Infinity"),
        ('{"schema": "a", "schema": "b"}', "twice"),
        ("{}", "schema"),
    ],
)
def test_what_is_no_statement_at_all_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        PrivacyStatement.from_json(text)


def test_a_number_beyond_floats_is_refused():
    text = statement().to_json().replace('"delta": 1e-06', '"delta": 1e999')
    with pytest.raises(ValueError, match="delta: too large"):
        PrivacyStatement.from_json(text)


# --- the words -----------------------------------------------------------------------------------


def test_the_page_has_every_part_and_is_aligned():
    text = str(statement())
    lines = text.splitlines()
    assert 20 <= len(lines) <= 40
    assert max(len(line) for line in lines) <= 100
    assert lines[0].startswith("(")
    assert "joint differential privacy of each user" in lines[0]
    start = next(i for i, line in enumerate(lines) if line.startswith("release "))
    table = lines[start : start + 4]
    assert len({len(line) for line in table}) == 1
    assert table[0].split() == ["release", "bound", "(l2)", "noise", "std", "times", *SHARE]
    assert table[3].split() == [
        "right-hand",
        "sides",
        "3",
        "30",
        "4",
        f"{share('right-hand sides')}%",
    ]
    assert "ASSUMED PUBLIC" in text
    assert "the item catalogue: every item of this source" in text
    assert "the number of users, 6040" in text
    assert "NOT COVERED" in text
    assert "the choice of hyper-parameters" in text
    assert "what a user is shown herself" in text
    assert "AES-256-CTR" in text
    assert "numerical" in text
    assert "replace-one" in text
    assert "WARNING" not in text


SHARE = ["share", "of", "mu^2"]


def share(name):
    return round(100 * PLAN[name].mu_squared / PLAN.mu**2, 1)


@pytest.mark.parametrize(
    ("delta", "warned"), [(1 / 6040, False), (1.01 / 6040, True), (0.01, True)]
)
def test_a_delta_above_1_over_n_is_warned_of(delta, warned):
    lines = str(statement(delta=delta)).splitlines()
    assert any("WARNING" in line and "n = 6040" in line for line in lines[:2]) is warned


@given(st.floats(0.01, 50), st.floats(1e-9, 1e-3))
def test_printed_bounds_are_never_below_the_figures(epsilon, delta):
    made = statement(calibrate(PLAN, epsilon, delta), delta=delta, relative_error=0.0)
    first = str(made).splitlines()[0]
    printed = first[1 : first.index(")")].split(", ")
    assert made.epsilon <= float(printed[0]) <= made.epsilon * (1 + 2e-4)
    assert made.delta <= float(printed[1]) <= made.delta * (1 + 2e-4)


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-7, 2.5e-8, 0.001])
def test_a_short_delta_is_printed_as_it_was_given(delta):
    first = str(statement(delta=delta)).splitlines()[0]
    assert first.partition(", ")[2].startswith(f"{delta:g})")
    assert f"a probability of {delta:g} (delta)" in statement(delta=delta).plain()


def test_power_of_the_attack_is_that_of_the_trade_off_curve():
    made = statement(relative_error=0.0)
    expected = gdp.power(0.05, PLAN.mu)
    assert made.attack_power == pytest.approx(expected, rel=1e-12)
    assert f"at most {math.ceil(100 * expected)} in 100" in made.plain()


def test_power_uses_epsilon_where_sampling_makes_it_the_stronger_bound():
    made = statement(SAMPLED)
    by_epsilon = math.exp(made.epsilon) * 0.05 + made.delta
    assert made.attack_power < gdp.power(0.05, made.mu)
    assert made.attack_power <= by_epsilon


@given(st.floats(1e-3, 30))
def test_power_lies_between_guessing_and_certainty(mu):
    made = statement(Plan((Release("a", mu, 1.0),)))
    assert 0.05 <= made.attack_power <= 1.0


def test_the_numerical_part_counts_for_the_attacker():
    assert statement(relative_error=1e-6).attack_power > statement(relative_error=0).attack_power


def test_plain_words_state_the_odds():
    text = statement(calibrate(PLAN, 1.0, 1e-6, 1e-9)).plain()
    assert "at most 2.72 (e to the epsilon 1)" in text
    assert "1e-06 (delta)" in text
    assert "does not cover what a user is shown herself" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"n_users": 0}, "n_users"), ({"delta": 0.0}, "delta"), ({"relative_error": 2.0}, "relative")],
)
def test_impossible_facts_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        statement(**changes)


def test_releases_need_different_names_and_there_must_be_some():
    release = Release("a", 1.0, 1.0)
    for releases in ((), (release, release)):
        with pytest.raises(ValueError, match="different names"):
            PrivacyStatement.of(releases, **FACTS)
