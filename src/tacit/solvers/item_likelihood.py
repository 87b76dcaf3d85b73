# SPDX-License-Identifier: Apache-2.0
"""`ALS` by maximum likelihood with a Gram matrix for each item.

The step of `ALS` with n_j C, what the raters of item j know of their factors if they are like
everybody, replaced by what they know indeed:

    V_j <- (1 - b) V_j + b (X_j + n_j (I - C) + ridge_j I)^-1 (g_j + X_j V_j)

Both have the same fixed points: where V_j stays, X_j drops out. So noise in X_j costs speed, not
accuracy, and X_j may be shrunk toward n_j C as far as its noise asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.accounting.release import Plan
from tacit.contributions import ItemGramsAndGradient, UserFactors
from tacit.folding import Centring
from tacit.solvers.item_solves import by_items, positive, solved, symmetric
from tacit.solvers.normal_equations import unpacked
from tacit.solvers.preparation import Preparation
from tacit.solvers.pricing import priced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.accounting.public import Public
    from tacit.contributions import Rows
    from tacit.folding import FoldIn
    from tacit.mechanisms.curator import Curator
    from tacit.solvers.als import ALS, Recipe
    from tacit.solvers.per_item import PerItem


def plan(options: PerItem, als: ALS, public: Public) -> Plan:
    h = als.recipe(public)
    if h.rank == 0:
        return Plan(h.offset_steps.releases(public))
    preparation = Preparation(options, h.offset_steps, public, counts_wanted=True)
    first = preparation.releases()
    fold = h.fold(np.zeros((public.n_items, h.rank)), Centring())
    rows = replace(preparation.all_rows, clip=public.width)
    question = asked(h, rows, fold)
    recounts = options.count_share if preparation.counts_again else 0.0
    shares = als.shares(h) | {"gradient": h.gradient_share - recounts}
    return Plan((*first, *priced(question, "factors", shares, times=als.steps)))


def fit(options: PerItem, als: ALS, curator: Curator) -> FoldIn:
    public, h = curator.public, als.recipe(curator.public)
    if h.rank == 0:
        offsets = h.offset_steps.ask(curator)
        centring = h.offset_steps.centring(public, offsets.values)
        return h.fold(h.begin(offsets.counts, als.seed)[0], centring)
    preparation = Preparation(options, h.offset_steps, public, counts_wanted=True)
    prepared = preparation.ask(curator, als.start)
    n = prepared.counts
    centring = Centring(prepared.centring.offsets)
    rows = replace(prepared.rows, clip=public.width, centring=centring)
    noise = curator.plan["factors.gradient"].std
    V, home = h.begin(n, als.seed)
    V = h.levelled(V * prepared.frequent[:, None])
    for t in range(als.steps):
        answer = curator.noisy_sum(asked(h, rows, h.fold(V, centring)), "factors")
        X, C = shrunk_grams(answer["gram"], n, curator.plan["factors.gram"].std, h.rank)
        h = h.told(answer, curator.plan, C, n)
        b = h.averaging if t or als.start else 1.0
        ridge = h.ridge(n, noise)
        g = answer["gradient"] + ridge[:, None] * home
        step = likelihood_step(X, n, C, g, V, ridge)
        del answer, X  # their memory is what the next sums need
        V = h.levelled(((1 - b) * V + b * step) * prepared.frequent[:, None])
    return h.fold(V, centring)


def asked(h: Recipe, rows: Rows, fold: FoldIn) -> ItemGramsAndGradient:
    """What every step asks the users."""
    return ItemGramsAndGradient(
        rows, UserFactors(fold, h.factor_bound), h.row_bound, h.chance_bound
    )


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkGrams:
    """n_j C + keep_j (X_j - n_j C) for every item, packed; made where they are used."""

    grams: NDArray[np.float64]
    n: NDArray[np.float64]
    C: NDArray[np.float64]
    keep: NDArray[np.float64]

    def of(self, some: slice) -> NDArray[np.float64]:
        """Those of some items."""
        if (self.keep[some] == 1).all():
            return self.grams[some]
        return self.n[some, None] * self.C + self.keep[some, None] * self.differences(some)

    def differences(self, some: slice) -> NDArray[np.float64]:
        """X_j - n_j C of some items."""
        return self.grams[some] - self.n[some, None] * self.C


def shrunk_grams(
    grams: NDArray[np.float64], n: NDArray[np.float64], noise: float, rank: int
) -> tuple[ShrunkGrams, NDArray[np.float64]]:
    """Packed X_j, moved toward n_j C by how noisy they are, and C, which they share.

    All of them together tell C, and how much X_j differs from n_j C: by a variance that grows like
    n_j, as for items whose raters are chosen at random. From released numbers only.
    """
    moment = unpacked(grams.sum(axis=0) / n.sum(), rank)
    values, vectors = np.linalg.eigh(moment)
    C = (vectors * np.clip(values, 0, 1)) @ vectors.T
    shrunk = ShrunkGrams(grams, n, C[np.triu_indices(rank)], np.ones(len(n)))
    if noise == 0:
        return shrunk, C
    # Off the diagonal entries count twice and have half of the noise: isometric.
    twice = np.where(np.equal(*np.triu_indices(rank)), 1.0, 2.0)

    def squares(some: slice) -> NDArray[np.float64]:
        return np.asarray(np.einsum("jp,p->j", shrunk.differences(some) ** 2, twice), np.float64)

    excess = by_items(squares, len(n), rank) - noise**2 * len(twice)
    variance = n * max(float(excess.sum() / n.sum()), 0.0)
    return replace(shrunk, keep=variance / (variance + noise**2 * len(twice))), C


def likelihood_step(
    X: ShrunkGrams,
    n: NDArray[np.float64],
    C: NDArray[np.float64],
    g: NDArray[np.float64],
    V: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(X_j + n_j (I - C) + ridge_j I)^-1 (g_j + X_j V_j) for every item.

    An X_j that its noise has made indefinite is replaced by n_j C; without noise none is.
    """
    rank = V.shape[1]
    unknown = np.eye(rank) - C

    def work(some: slice) -> NDArray[np.float64]:
        known = symmetric(X.of(some), rank)
        if (X.keep[some] < 1).any():
            wild = ~positive(known)
            known[wild] = n[some][wild, None, None] * C
        sides = g[some] + np.einsum("jkl,jl->jk", known, V[some])
        return solved(known + n[some, None, None] * unknown, ridge[some], sides)

    return by_items(work, len(V), rank)
