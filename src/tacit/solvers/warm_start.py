# SPDX-License-Identifier: Apache-2.0
"""An earlier model to begin a training with: what it gives, and what that means for privacy.

A private training knows nothing of how its start was made, so it may only take one that is private
itself, whose releases its statement then counts, or one that is declared to be public.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.accounting.earlier import earlier
from tacit.folding import Centring, FoldIn
from tacit.model.item_model import ItemModel
from tacit.solvers.strength import usual_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.accounting.release import Release

    # First item factors, and what ridges pull them to: the start, or zero where there is none.
    Begun = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """An earlier model, as the field `start` of `ALS`, `Gradient`, `Langevin` and `SGD` takes it.

    Items are matched by their ids; one that the earlier model does not know starts as usual. Where
    the new scale is another one, what the model says is moved onto it. If the solver is given no
    rank, it has as many factors as the start.

    model: from `tacit.load`, or `fit.model` of an earlier training. Its users solve least squares.
    trained_on: "public ratings" declares that the model has seen public ratings alone: the
        statement says so, and nothing checks it.

    Guarantee:
        A training at a finite epsilon refuses a model whose statement is not private, unless it is
        declared public. A private model's releases are part of the new statement. As true as the
        statement in the model's file. proofs/accounting.md
    """

    model: ItemModel = field(repr=False)
    trained_on: Literal["private ratings", "public ratings"] = "private ratings"
    matched: FoldIn | None = field(default=None, init=False, repr=False)
    known: NDArray[np.bool_] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, ItemModel):
            raise TypeError("a start is made of an ItemModel: tacit.load(folder), or fit.model")
        if self.trained_on not in {"private ratings", "public ratings"}:
            raise ValueError(
                f"trained_on must be 'private ratings' or 'public ratings', got {self.trained_on!r}"
            )
        step = self.model.folding.step
        if step is not None:
            raise ValueError(
                f"users of this model do not solve least squares but take the step {step.kind!r}: "
                "a start is a model of ALS (on ratings), Gradient, Langevin or SGD"
            )
        if not self.model.item_factors[:, self.level :].any():
            raise ValueError("this model has item offsets but no factors to start from")

    @property
    def declared_public(self) -> bool:
        return self.trained_on == "public ratings"

    @property
    def level(self) -> int:
        """1 where the first factor is alike for all items: then it is the user's level."""
        V = self.model.item_factors
        alone = math.isinf(self.model.folding.centring.mean_ridge) and V.shape[1] > 1
        return int(alone and np.ptp(V[:, 0]) == 0)

    def check(self, public: Public) -> None:
        """Refuse what would break the guarantee of a training with this budget."""
        statement = self.model.statement
        if math.isfinite(public.mu) and not self.declared_public and not statement.private:
            raise ValueError(
                f"the start is NOT PRIVATE ({statement.why_not_private}), and a private training "
                "would pass on what it reveals: start from a private model; or, if it was trained "
                "on public ratings alone, say WarmStart(model, trained_on='public ratings'), or "
                "--start-is-public"
            )

    def releases(self, public: Public) -> tuple[Release, ...]:
        """What was released for the start and counts in the statement of a training from it."""
        if self.declared_public or math.isinf(public.mu):
            return ()
        return earlier(self.model.statement.releases)

    def assumptions(self, public: Public) -> tuple[str, ...]:
        """What the statement of a training from here must say was taken as public."""
        if math.isinf(public.mu):
            return ()
        if self.declared_public:
            words = (
                "the model that the training started from: DECLARED TO HAVE SEEN PUBLIC RATINGS "
                "ALONE, which nothing checks. Whose ratings it saw is not protected from it"
            )
            return (words,)
        own = self.model.statement
        listed = (f"the number of users, {own.n_users}", *own.public)
        return tuple(f"by the training of the start: {each}" for each in listed)

    def rank(self, asked: int | None, level: int) -> int:
        """The rank of a training that starts here; its first `level` factors are users' levels."""
        own = int(self.model.item_factors.shape[1]) - self.level
        if asked not in {None, own + level}:
            beside = ", and this algorithm has one more for the user's level" if level else ""
            raise ValueError(
                f"rank {asked} does not agree with the start, which has {own} factors{beside}: "
                f"say rank={own + level}"
            )
        return own + level

    def on(
        self, item_ids: NDArray[np.int64] | NDArray[np.object_], low: float, high: float
    ) -> WarmStart:
        """The same over the catalogue and the scale of a new training; 7 and "7" are one id."""
        where = {str(item): j for j, item in enumerate(self.model.item_ids.tolist())}
        place = np.array([where.get(str(item), -1) for item in item_ids.tolist()], np.int64)
        known = place >= 0
        if not self.model.item_factors[place[known], self.level :].any():
            raise ValueError(
                "the start has factors for none of these items: are they under the same ids?"
            )
        fold, (old_low, old_high) = self.model.folding, self.model.scale
        grown = (high - low) / (old_high - old_low)
        V = np.where(known[:, None], fold.item_factors[place], 0)
        V[:, : self.level] = fold.item_factors[0, : self.level]
        offsets = low + (self.model.item_offsets[place] - old_low) * grown
        offsets[~known] = offsets[known].mean()
        found = replace(self)
        matched = FoldIn(
            (V * grown).astype(np.float32),
            Centring(offsets, fold.centring.mean_ridge),
            ridge=fold.ridge * grown**2,
            ridge_power=fold.ridge_power,
            unobserved=fold.unobserved,
        )
        object.__setattr__(found, "matched", matched)
        object.__setattr__(found, "known", known)
        return found

    def over(self, n_items: int) -> tuple[FoldIn, NDArray[np.bool_]]:
        """What `on` has found, for as many items."""
        if self.matched is None or self.known is None or len(self.known) != n_items:
            raise ValueError("a start is matched to the items by tacit.fit: train with that")
        return self.matched, self.known

    def offsets(self, public: Public) -> NDArray[np.float64]:
        """Of all items, around the middle of the scale."""
        fold, _ = self.over(public.n_items)
        middle = (public.low + public.high) / 2
        return np.asarray(fold.centring.offsets - middle, np.float64)

    def scaled(self, n_items: int, size: float) -> NDArray[np.float64]:
        """Item factors of this root mean square; NaN for items that the start does not know."""
        fold, known = self.over(n_items)
        V = fold.item_factors[:, self.level :].astype(np.float64)
        V *= size / math.sqrt(float(np.mean(V[known] ** 2)))
        V[~known] = np.nan
        return V

    def begin(self, usual: NDArray[np.float64], level: int, hold: NDArray[np.float64]) -> Begun:
        """The usual first factors with those of the start in their place and of their size.

        The first `level` columns are left alone. Ridges that hold on to the start, `hold` times as
        large, pull to what its users were enough to find: a posterior mean is so much shorter.
        """
        V = usual.copy()
        scaled = self.scaled(len(V), math.sqrt(float(np.mean(V[:, level:] ** 2))))
        known = self.over(len(V))[1]
        V[known, level:] = scaled[known]
        found = float(np.mean(1 - 1 / hold[known])) or 1.0
        home = np.where(known[:, None], V, 0)
        home[:, level:] *= math.sqrt(found)
        return V, home

    def hold(self, n: NDArray[np.float64], chance: float, n_users: int) -> NDArray[np.float64]:
        """For each item how many times its ridge grows, as if the start's users were here too.

        n: weighted counts of the ratings of `n_users` users; theirs are taken to be alike.
        chance: of a rating, as a multiple of the variance of factors. Users whose ratings noise has
            hidden do not count.
        """
        bare = chance * n_users / n.sum()  # the ridge without noise
        own = self.model.statement
        users = 0 if own.private else own.n_users
        times: NDArray[np.float64] = 1 + self.over(len(n))[1] * (users / n_users) * n / bare
        return times

    @property
    def fingerprint(self) -> str:
        """Tells starts apart."""
        return hashlib.sha256(self.model.item_factors.tobytes()).hexdigest()[:16]


def rank_of(start: WarmStart | None, public: Public, asked: int | None, level: int = 0) -> int:
    """The rank that was asked for, or that of the start, or as many factors as pay."""
    return usual_rank(public, asked) if start is None else start.rank(asked, level)


def check_start(start: object) -> None:
    """Refuse what no solver can take as its field of that name."""
    if start is not None and not isinstance(start, WarmStart):
        raise ValueError("start must be a WarmStart, such as WarmStart(tacit.load(folder))")


def begin(
    start: WarmStart | None,
    usual: NDArray[np.float64],
    hold: NDArray[np.float64] | None = None,
    level: int = 0,
) -> Begun:
    """Where a training begins: as usual, or from an earlier model."""
    if start is None:
        return usual, np.zeros_like(usual)
    return start.begin(usual, level, np.ones(len(usual)) if hold is None else hold)


def hold(
    start: WarmStart | None, n: NDArray[np.float64], chance: float, n_users: int
) -> NDArray[np.float64]:
    """How many times ridges grow that pull to a start; 1 where there is none."""
    return np.ones(len(n)) if start is None else start.hold(n, chance, n_users)
