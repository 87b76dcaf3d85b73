# SPDX-License-Identifier: Apache-2.0
"""`tacit audit`: the likelihood-ratio attack on an algorithm, on made-up ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.audit.made_up import AT_THE_BOUND, N_ITEMS, N_OTHERS, attacked
from tacit.cli.progress import busy
from tacit.cli.settings import Algorithm  # noqa: TC001  (options)
from tacit.cli.verb import AsJson, say, say_json, verb

if TYPE_CHECKING:
    from tacit.audit.canary import Audit

REFUTED = 1


@dataclass(frozen=True, slots=True)
class Attack:
    """How much is claimed, and how hard it is tried."""

    mu: Annotated[
        float, typer.Option(min=0.01, max=100, help="What the trainings claim; 1 to 2 is best.")
    ] = 1.5
    runs: Annotated[
        int, typer.Option(min=2, help="Trainings with the canary, and as many without.")
    ] = 200
    as_json: AsJson = False


@verb
def audit(*, algorithm: Algorithm, attack: Attack) -> None:
    """Attack an algorithm on made-up ratings: is a canary's presence as well hidden as claimed?

    The attacker knows all other users and the canary's row, and sees every noisy sum. Nobody can
    tell better than he does; what he reaches is mu itself. Settings are such that the canary
    weighs as much as anybody may; --set changes them. Ends with code 1 if the claim is refuted.
    """
    if algorithm.start is not None:
        raise ValueError("--start: the audit makes its items up, so no earlier model knows them")
    usual = [f"{name}={value}" for name, value in AT_THE_BOUND.get(algorithm.algorithm, {}).items()]
    solver = replace(algorithm, setting=[*usual, *(algorithm.setting or [])]).solver()
    with busy(f"Training {2 * attack.runs} times"):
        found = attacked(solver, mu=attack.mu, runs=attack.runs)
    if attack.as_json:
        say_json(
            {
                "algorithm": algorithm.algorithm,
                "solver": repr(solver),
                "mu.claimed": found.claimed,
                "mu.reached": found.reached,
                "mu.error": found.error,
                "mu.canary": found.weight,
                "refuted": found.refuted,
            }
        )
    else:
        _show(algorithm.algorithm, found, attack.runs)
    if found.refuted:
        raise typer.Exit(REFUTED)


def _show(name: str, found: Audit, runs: int) -> None:
    say(
        f"{name}: {N_OTHERS} made-up users and a canary, {N_ITEMS} items; "
        f"{runs} trainings with her and {runs} without\n"
        f"mu claimed           {found.claimed:.3f}\n"
        f"mu of this canary    {found.weight:.3f}   what a perfect attack on her can reach\n"
        f"mu that was reached  {found.reached:.3f} ± {found.error:.3f}"
    )
    if found.refuted:
        say("REFUTED: the canary can be told better than is claimed (by over 4 standard errors).")
    else:
        say("Not refuted: the canary can be told no better than is claimed.")
