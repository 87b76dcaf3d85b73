# SPDX-License-Identifier: Apache-2.0
"""What the steps of a solver learn about chance, from released numbers: post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace

# As shares of the first guess: how wrong it may be, and how far chance moves from step to step,
# because better factors leave less to it.
_SPREAD = 0.3
_DRIFT = 0.03
# No answer makes chance smaller than this share of the guess, so that ridges stay above 0.
_LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Chance:
    """A guess of chance that follows noisy answers as far as their noise allows (Kalman, 1960).

    value: variance of a rating around its prediction.
    guess: what it was before the first answer.
    doubt: variance of the error of `value`.
    """

    value: float
    guess: float
    doubt: float

    @classmethod
    def of(cls, guess: float) -> Chance:
        return cls(guess, guess, (_SPREAD * guess) ** 2)

    def after(self, answer: float, noise: float) -> Chance:
        """With one more answer, whose noise has this deviation."""
        trust = self.doubt / (self.doubt + noise**2)
        value = max(self.value + trust * (answer - self.value), _LEAST * self.guess)
        doubt = (1 - trust) * self.doubt + (_DRIFT * self.guess) ** 2
        return replace(self, value=value, doubt=doubt)
