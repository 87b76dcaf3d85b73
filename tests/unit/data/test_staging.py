# SPDX-License-Identifier: Apache-2.0
"""The scratch database says nothing by itself, and keeps to its memory whatever the source."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tacit.data.staging
from tacit.data.frames import open_frame
from tacit.data.staging import Staging

CLEAR = Path("/proc/self/clear_refs")


def test_long_queries_draw_no_progress_bar():
    with Staging() as staging:
        assert staging.value("SELECT current_setting('enable_progress_bar')") is False


def peak():
    """Most resident bytes since the record was cleared."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


@pytest.mark.skipif(not CLEAR.exists(), reason="the record of the peak is Linux's")
def test_a_stream_larger_than_the_memory_goes_to_disk(monkeypatch):
    """A part is settled when it is stored: what a transaction holds would stay in memory."""
    monkeypatch.setattr(tacit.data.staging, "MEMORY", "32MB")
    n, parts = 500_000, 32
    columns = {"user": np.arange(n), "item": np.arange(n)[::-1] * 7919, "rating": np.ones(n)}
    batch = pa.RecordBatch.from_pydict(columns)

    begun = []

    def batches():
        for part in range(parts):
            if part == 4:  # whatever takes room at first has it by now
                CLEAR.write_text("5")
                begun.append(peak())
            yield batch

    rows = open_frame(pa.RecordBatchReader.from_batches(batch.schema, batches()))
    with Staging() as staging:
        staging.store("ratings", rows, {role: role for role in columns})
        assert peak() - begun[0] < parts * batch.nbytes / 3
        assert staging.value("SELECT count(*) FROM ratings") == parts * n
