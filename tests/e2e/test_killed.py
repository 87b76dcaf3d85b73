# SPDX-License-Identifier: Apache-2.0
"""Killed at any moment, a fit leaves the old model or the new one, whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tacit

# Trains two models and saves them in turn, for ever; each line says that another one is saved.
SAVING = """
import sys
import tacit
ratings = tacit.datasets.movielens_like(300, 2000, 9000, 2)
models = [tacit.fit(ratings, tacit.ItemOffsets(), epsilon=e).model for e in (1.0, 2.0)]
while True:
    for model in models:
        model.save(sys.argv[1])
        print(model.statement.epsilon, flush=True)
"""


@pytest.mark.parametrize("saved", [1, 2, 40])
def test_a_kill_leaves_a_whole_model(tmp_path, saved):
    rng = np.random.default_rng(saved)
    folder = tmp_path / "model"
    process = subprocess.Popen(
        [sys.executable, "-c", SAVING, str(folder)], stdout=subprocess.PIPE, text=True
    )
    for _ in range(saved):
        assert process.stdout.readline()
    time.sleep(rng.uniform(0, 0.02))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert round(tacit.load(folder).statement.epsilon, 6) in {1.0, 2.0}
    # What the killed one left half-written does not get in the way of the next.
    model = tacit.load(folder)
    model.save(folder)
    assert tacit.load(folder).statement.epsilon == model.statement.epsilon
