# SPDX-License-Identifier: Apache-2.0
"""One peer, asked over its standard input for the seconds of single iterations.

    PYTHON bench/peer_iteration.py implicit|lenskit|libmf DATA.npz

A line "exact 64" or "cg 64" names the variant and the rank; the answer is one line, the seconds of
a full iteration over users and items after a first one. For LIBMF "epochs-3 64" is a whole training
of 3 epochs. bench/peers.py and bench/sgd.py start it, in an environment of its own: the peers want
other versions of libraries than tacit does.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 2


class Implicit:
    """ALS with all unobserved ratings as zeros: exact (Cholesky), or three steps of CG."""

    def __init__(self, data: Any) -> None:
        sparse = importlib.import_module("scipy.sparse")
        shape = (len(data["indptr"]) - 1, int(data["n_items"]))
        self._matrix = sparse.csr_matrix((data["values"], data["items"], data["indptr"]), shape)
        self._als = importlib.import_module("implicit.cpu.als").AlternatingLeastSquares

    def iteration(self, variant: str, rank: int) -> Callable[[], None]:
        peer = self._als(
            factors=rank, iterations=1, use_cg=variant == "cg", num_threads=THREADS, random_state=0
        )
        peer.fit(self._matrix, show_progress=False)
        return lambda: peer.fit(self._matrix, show_progress=False)


class Lenskit:
    """Explicit ratings with biases, exact."""

    def __init__(self, data: Any) -> None:
        importlib.import_module("torch").set_num_threads(THREADS)
        users = np.repeat(np.arange(len(data["indptr"]) - 1), np.diff(data["indptr"]))
        frame = importlib.import_module("pandas").DataFrame(
            {"user_id": users, "item_id": data["items"], "rating": data["values"]}
        )
        self._dataset = importlib.import_module("lenskit.data").from_interactions_df(frame)
        self._scorer = importlib.import_module("lenskit.als").BiasedMFScorer
        self._options = importlib.import_module("lenskit.training").TrainingOptions

    def iteration(self, variant: str, rank: int) -> Callable[[], None]:
        if variant != "exact":
            raise ValueError(f"LensKit's explicit ALS is exact, asked for {variant}")
        loop = self._scorer(embedding_size=rank, epochs=1000).training_loop(
            self._dataset, self._options()
        )
        next(loop)
        return lambda: next(loop) and None


class Libmf:
    """Stochastic gradient descent; the arrays of a training are never freed by the package."""

    def __init__(self, data: Any) -> None:
        users = np.repeat(np.arange(len(data["indptr"]) - 1), np.diff(data["indptr"]))
        columns = [users, data["items"], data["values"]]
        self._rows = np.stack(columns, axis=1).astype(np.float32)
        with contextlib.redirect_stdout(sys.stderr):  # it tells where it lies
            self._make = importlib.import_module("libmf.mf").MF

    def iteration(self, variant: str, rank: int) -> Callable[[], None]:
        how = {"nr_threads": THREADS, "quiet": True, "copy_data": False, "eta": 0.05}
        ridge = {"lambda_p2": 0.05, "lambda_q2": 0.05}
        epochs = int(variant.removeprefix("epochs-"))
        return lambda: self._make(k=rank, nr_iters=epochs, **how, **ridge).fit(self._rows)


def main() -> int:
    warnings.simplefilter("ignore")
    name, data = sys.argv[1], np.load(sys.argv[2])
    peer = {"implicit": Implicit, "lenskit": Lenskit, "libmf": Libmf}[name](data)
    print(f"{name} {version(name)}", flush=True)
    ready: dict[tuple[str, int], Callable[[], None]] = {}
    for line in sys.stdin:
        variant, rank = line.split()
        asked = (variant, int(rank))
        if asked not in ready:
            ready[asked] = peer.iteration(*asked)
        start = time.perf_counter()
        ready[asked]()
        print(time.perf_counter() - start, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
