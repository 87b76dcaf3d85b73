# SPDX-License-Identifier: Apache-2.0
"""`tacit demo`: a private recommender on made-up ratings, from data to recommendation."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import tacit
from tacit.data.block import UserBlock
from tacit.data.ratings import Ratings

if TYPE_CHECKING:
    from tacit.model.item_model import ItemModel

console = Console()


def demo(
    users: Annotated[int, typer.Option(min=100, help="How many made-up users.")] = 6_000,
    seed: Annotated[int, typer.Option(help="Of the made-up ratings; the noise has none.")] = 0,
) -> None:
    """Train a private recommender on made-up ratings and show what privacy costs."""
    items, ratings_per_user = 1_000, 60
    console.print(f"Making up ratings of {users:,} users for {items:,} items ...")
    ratings = tacit.datasets.movielens_like(
        users=users, items=items, ratings=users * ratings_per_user, seed=seed
    )
    train, held_out = _hold_out(ratings, np.random.default_rng(seed))

    table = Table(title="Test error (RMSE) of item offsets, by privacy budget")
    for column in ("epsilon", "RMSE", "", "seconds"):
        table.add_column(column, justify="left" if not column else "right")
    errors = {"nothing learned": _error(np.full(items, ratings.scale.middle), train, held_out)}
    seconds = {"nothing learned": 0.0}
    models = {}
    for epsilon in (0.1, 1.0, 10.0, math.inf):
        start = time.perf_counter()
        fit = tacit.fit(train, tacit.ItemOffsets(), epsilon=epsilon)
        name = "not private" if math.isinf(epsilon) else f"{epsilon:g}"
        seconds[name] = time.perf_counter() - start
        errors[name] = _error(fit.model.item_offsets, train, held_out)
        models[name] = fit.model
    worst, best = max(errors.values()), min(errors.values())
    for name, error in errors.items():
        bar = "█" * round(4 + 36 * (error - best) / (worst - best))
        table.add_row(name, f"{error:.4f}", bar, f"{seconds[name]:.2f}")
    console.print(table)
    console.print(
        "[dim]Errors are computed on the made-up ratings themselves: no statement covers them.[/dim]\n"
    )
    _show_recommendation(models["1"])
    console.print(str(models["1"].statement), markup=False, highlight=False, soft_wrap=True)


def _hold_out(ratings: Ratings, rng: np.random.Generator) -> tuple[Ratings, UserBlock]:
    """A tenth of the ratings apart, at random."""
    chosen = rng.random(len(ratings.block.items)) < 0.1
    train = Ratings(ratings.block.keep(~chosen), ratings.user_ids, ratings.catalogue, ratings.scale)
    return train, ratings.block.keep(chosen)


def _error(offsets: np.ndarray, train: Ratings, held_out: UserBlock) -> float:
    """RMSE of user's mean + item offset, clipped to the scale."""
    known = train.block
    rest = known.values - offsets[known.items]
    users = known.user_of_rating()
    count = np.maximum(np.diff(known.indptr), 1)
    means = np.bincount(users, rest, minlength=known.n_users) / count
    predicted = means[held_out.user_of_rating()] + offsets[held_out.items]
    clipped = np.clip(predicted, train.scale.low, train.scale.high)
    return float(np.sqrt(np.mean((clipped - held_out.values) ** 2)))


def _show_recommendation(model: ItemModel) -> None:
    """One made-up visitor's list, computed from the model and her ratings alone."""
    ids = model.item_ids.tolist()
    known = {ids[3]: model.scale[1], ids[5]: model.scale[0]}
    rated = ", ".join(f"item {item} = {rating:g}" for item, rating in known.items())
    table = Table(title=f"At epsilon 1, for a visitor who rated {rated}")
    table.add_column("recommended item", justify="right")
    table.add_column("predicted rating", justify="right")
    for item, score in model.recommend(known, n=5):
        table.add_row(str(item), f"{score:.2f}")
    console.print(table)
