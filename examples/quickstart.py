# SPDX-License-Identifier: Apache-2.0
"""A private recommender from a CSV file to a recommendation, on made-up ratings.

python examples/quickstart.py
"""

# %% Some ratings
# Made up, in the shape of MovieLens; your own file has the same three columns.
import csv
import math
import shutil
import tempfile
from pathlib import Path

import tacit
from tacit.accounting.calibrate import default_delta
from tacit.mechanisms.rehearsal import Rehearsal
from tacit.training import Budget, calibrated_plan

folder = Path(tempfile.mkdtemp())
made_up = tacit.datasets.movielens_like(users=2_000, items=300, ratings=80_000, rank=4, seed=1)
with (folder / "ratings.csv").open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["user", "item", "rating"])
    block = made_up.block
    users = made_up.user_ids[block.user_of_rating()]
    items = made_up.catalogue.ids[block.items]
    rows.writerows(zip(users.tolist(), items.tolist(), block.values.tolist(), strict=True))
with (folder / "items.csv").open("w", newline="") as file:
    csv.writer(file).writerows([["item"], *([item] for item in made_up.catalogue.ids.tolist())])

# %% Read
# The catalogue and the scale are public. Given here, they are not taken from the ratings.
ratings = tacit.read(folder / "ratings.csv", items=folder / "items.csv", scale=(0.5, 5))
print(ratings)
assert ratings.n_users == 2_000
assert len(ratings.block.items) == 80_000

# %% Look before you spend
# What a training will release follows from public numbers alone. A rehearsal runs the algorithm
# without data, and shows that it asks for what it planned and for nothing else.
solver = tacit.ItemOffsets()
budget = Budget(epsilon=1.0, delta=default_delta(ratings.n_users))
public, plan = calibrated_plan(solver, n_users=2_000, n_items=300, scale=(0.5, 5), budget=budget)
for release in plan.releases:
    print(f"{release.name}: {release.times} times, bound {release.l2}, noise {release.std:.3g}")
rehearsal = Rehearsal(public, plan)
solver.fit(rehearsal)
assert set(rehearsal.ledger.releases) == set(plan.releases)
assert plan.epsilon(budget.delta) <= 1.0

# %% Train
fit = tacit.fit(ratings, solver, epsilon=budget.epsilon, delta=budget.delta)

# %% What it may reveal
# The statement is computed from what was released; it is that of the plan.
print(fit.statement)
print(fit.statement.plain())
assert fit.statement.private
assert 0.999 < fit.statement.epsilon <= 1.0
assert math.isclose(fit.statement.mu, plan.mu)
assert "EVERY ITEM" not in str(fit.statement)

# %% Save and load
# The file holds released numbers and public ones; no user's row can be in it.
fit.model.save(folder / "model")
model = tacit.load(folder / "model")
assert model.statement == fit.statement

# %% Recommend
# At the user's: the model and her own ratings are all it takes.
known = {7: 5.0, 21: 1.0}
recommended = model.recommend(known, n=5)
for item, score in recommended:
    print(f"item {item}: {score:.2f}")
assert len(recommended) == 5
assert not known.keys() & {item for item, _ in recommended}
assert model.recommend(known, n=5) == fit.model.recommend(known, n=5)

# %% Clean up
shutil.rmtree(folder)
