# SPDX-License-Identifier: Apache-2.0
"""Privacy statements in words: one page for those who know the subject, a paragraph for all."""

from __future__ import annotations

import math
import textwrap
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from tacit.accounting import composition
from tacit.accounting.earlier import PREFIX, parted

if TYPE_CHECKING:
    from tacit.accounting.release import Release
    from tacit.accounting.statement import PrivacyStatement

_WIDTH = 92


def full(statement: PrivacyStatement) -> str:
    """The statement as a page of text; see `PrivacyStatement.__str__`."""
    lines = [
        *_heading(statement),
        *_warnings(statement),
        "",
        *_figures(statement),
        "",
        *_table(statement),
        *_earlier(statement),
        "",
        "ASSUMED PUBLIC. WHATEVER STANDS HERE IS NOT PROTECTED:",
        *_items((f"the number of users, {statement.n_users}", *statement.public)),
        "",
        "NOT COVERED:",
        *_items((_OWN_LIST, *statement.not_covered)),
        "",
        f"noise: {statement.noise_source}; tacit {statement.version}",
    ]
    return "\n".join(lines)


def plain(statement: PrivacyStatement) -> str:
    """The statement as a paragraph; see `PrivacyStatement.plain`."""
    if not statement.private:
        return (
            f"NOT PRIVATE: {statement.why_not_private}. This model may reveal what single users "
            "rated. Do not give it to anybody who may not see the ratings themselves."
        )
    before, _ = parted(statement.releases)
    earlier = "It began from an earlier model, which all figures here count. " if before else ""
    factor = _up(math.exp(statement.epsilon) if statement.epsilon < 700 else math.inf, 3)
    power = math.ceil(100 * statement.attack_power)
    return (
        "This model was made from noisy sums, so that nobody can tell much about any one user from "
        "it. Think of someone who knows every other user's ratings and studies the model, together "
        "with what all other users are shown, to find out whether one user's ratings were used. It "
        "tells him no more than a report which multiplies or divides the odds he gave before by at "
        f"most {factor} (e to the epsilon {_up(statement.epsilon)}) and which, with a probability "
        f"of {_up(statement.delta, 2)} (delta), gives her away. In other terms: a test that "
        "wrongly accuses 5 in 100 users whose ratings were not used finds at most "
        f"{power} in 100 of those whose were; pure guessing would find 5. "
        f"{earlier}This covers all ratings of a user together. It does not cover what a user is "
        "shown herself, which is computed from her own ratings, nor anything she tells others."
    )


_OWN_LIST = (
    "what a user is shown herself: it is computed from her own ratings. Joint differential privacy "
    "protects her from everyone else, all others together, not from readers of her own list"
)


def _heading(statement: PrivacyStatement) -> list[str]:
    if statement.private:
        pair = f"({_up(statement.epsilon)}, {_up(statement.delta)})"
        return [f"{pair} {statement.guarantee} of each user"]
    if statement.conditional:
        pair = f"({_up(statement.epsilon)}, {_up(statement.delta)})"
        return [
            f"NOT PRIVATE: {statement.why_not_private}",
            f"The figures below, {pair} differential privacy, are those of exact samples from the",
            "posterior; a chain of finite length has none.",
        ]
    return [
        f"NOT PRIVATE: {statement.why_not_private}",
        "The figures below are those of the same releases with secret noise of the stated std;",
        "they are no guarantee for this model.",
    ]


def _warnings(statement: PrivacyStatement) -> list[str]:
    n = statement.n_users
    if statement.delta <= 1 / n:
        return []
    return [
        f"WARNING: delta {statement.delta:g} is above 1/n for n = {n} users: it would permit",
        "publishing one user's ratings in full. Use at most 1/(10 n).",
    ]


def _figures(statement: PrivacyStatement) -> list[str]:
    loose = " at most, without the gain of sampling" if statement.subsampled else ""
    numerical = _up(statement.numerical_epsilon, 3)
    error = f"relative error {statement.relative_error:g} per number"
    replace = f"epsilon {_up(statement.epsilon_replace)}, mu {_up(statement.mu_replace)}{loose}"
    rows = (
        ("unit", statement.unit),
        ("adjacency", f"{statement.adjacency}: a user's ratings are there, or count as none"),
        ("epsilon", f"{_up(statement.epsilon)} at delta {statement.delta:g}"),
        ("  numerical", f"{numerical} of it, for inexact noise ({error})"),
        ("mu (Gaussian)", f"{_up(statement.mu)}{loose}"),
        ("rho (zCDP)", f"{_up(statement.rho)}{loose}"),
        ("replace-one", f"{replace}: all ratings replaced by any others"),
    )
    return [f"{name:<16}{value}" for name, value in rows]


def _table(statement: PrivacyStatement) -> list[str]:
    """The releases, aligned; the share column says who pays for what."""
    total = sum(release.mu_squared for release in statement.releases)
    head = ("release", "bound (l2)", "noise std", "times", "share of mu^2")
    rows = [head, *(_row(release, total) for release in statement.releases)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _earlier(statement: PrivacyStatement) -> list[str]:
    """What a start from an earlier model adds, where its releases are in the list."""
    before, now = parted(statement.releases)
    if not before:
        return []

    def pair(releases: tuple[Release, ...]) -> str:
        alone = composition.epsilon(
            releases, statement.delta, relative_error=statement.relative_error
        )
        mu = composition.mu_zero_out(releases)
        return f"epsilon {_up(alone)} at delta {statement.delta:g}, mu {_up(mu)}"

    return [
        "",
        f'Releases named "{PREFIX}..." are those of the model that this training started from.',
        "All figures above count both trainings, as if every user had been in both.",
        f"the start alone {pair(before)}",
        *([f"this training   {pair(now)}"] if now else []),
    ]


def _row(release: Release, total: float) -> tuple[str, ...]:
    share = "-" if math.isinf(total) else f"{100 * release.mu_squared / total:.1f}%"
    name = release.name
    if release.posterior:
        name += " (posterior sample: loss, temperature)"
    if release.sample_rate < 1:
        name += f" (each user with probability {release.sample_rate:g})"
    return name, f"{release.l2:.6g}", f"{release.std:.6g}", str(release.times), share


def _items(sentences: tuple[str, ...]) -> list[str]:
    lines = []
    for sentence in sentences:
        lines += textwrap.wrap(
            sentence, _WIDTH, initial_indent="  - ", subsequent_indent="    "
        ) or ["  -"]
    return lines


def _up(value: float, digits: int = 5) -> str:
    """`value` to so many significant digits, never below it: printed bounds stay bounds.

    From the shortest decimal that is read back as `value`, so that 1e-05 stays 1e-05.
    """
    if math.isinf(value):
        return "infinite"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"
