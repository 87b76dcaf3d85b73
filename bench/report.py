# SPDX-License-Identifier: Apache-2.0
"""Write docs/benchmarks.md from the files under bench/results, so that its figures are theirs.

    python bench/report.py

Run it after a measurement. The first line of every file names the command that wrote it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """\
# What was measured

`python bench/report.py` writes this page from the files under `bench/results`; a test fails when
they differ. To measure again: `make bench`, then that command. Compare ratios within one table, not
seconds between machines.
"""

# What each file answers, in the order of the page; a file that is not listed comes after them.
QUESTIONS = {
    "accuracy": "How well does a model predict at each budget, on real ratings?",
    "recipe": "How far is `ALS()`, which has no setting, behind what a search finds?",
    "dpals": "How far is the published algorithm, tuned, behind `ALS()`, which is not?",
    "warm_start": "What does a start from a public model give to private trainings?",
    "recall": "How much of what held-out users saw is recommended to them, at each budget?",
    "peers": "How long does a training step take, beside other libraries' iterations?",
    "dpals_synthetic": "Does private ALS beat private Frank-Wolfe as its paper says?",
    "dplmc_synthetic": "Does private gradient descent beat private ALS as its paper says?",
    "frank_wolfe": "Does private Frank-Wolfe beat the baselines of its paper, on Jester?",
    "frank_wolfe_rank_one": "The same on the paper's synthetic matrix of rank one.",
    "steps": "Are gradient and Langevin steps as fast as ALS, and large data as fast as small?",
    "sgd": "How many ratings a second does gradient descent take, beside LIBMF?",
    "frank_wolfe_speed": "How long do 40 directions of private Frank-Wolfe take?",
    "table5": "What are the published settings of private ALS worth, and what does tacit do there?",
    "dpals_ml1m": "Which findings of the private ALS paper on MovieLens 10M hold on 1M?",
    "dpmf": "What do the protocols of the SGLD paper give on Netflix and Yahoo! Music?",
    "sgld": "What do privacy, and a look-up table of normals, cost SGLD?",
    "sgld_speed": "How fast are SGD and SGLD by dimension and cores, and how do they use caches?",
    "noise": "What does exact Gaussian noise cost, cipher included, beside NumPy's normals?",
    "solve": "How fast do users find their factors, beside NumPy's single-precision product?",
    "sums": "What do the exact integer sums cost? `cpu` is processor time.",
    "read": "Are 25 million rows read, grouped and encoded within 2 GiB beyond the result?",
    "serving": "How many users are served a second, beside another library?",
    "scale": "Are 100 million ratings trained on in 2 GiB, as fast as from memory, as forecast?",
    "scale_billion": "Is a billion ratings trained on in the same memory?",
    "catalogue": "Do a million items train in memory, and does an index find the best of them?",
    "spark": "How fast is a private training on Spark, beside Spark's own ALS?",
    "fresh_clone": "How long does a newcomer wait for the two commands of the README?",
    "mutants": "Do the tests notice each way of breaking the privacy layer, one changed line each?",
}


def render() -> str:
    """The whole page."""
    there = sorted(path.stem for path in RESULTS.glob("*.txt"))
    order = [name for name in QUESTIONS if name in there]
    order += [name for name in there if name not in QUESTIONS]
    return "\n".join([INTRODUCTION, *(rendered(name) for name in order)])


def rendered(name: str) -> str:
    """Question and file, word for word."""
    text = (RESULTS / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    lines = [f"## {name}", QUESTIONS.get(name, ""), f"[{name}.txt](../bench/results/{name}.txt)"]
    return "\n".join([*filter(None, lines), "", "```text", text, "```", ""])


def main() -> int:
    PAGE.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
