# SPDX-License-Identifier: Apache-2.0
"""The scratch database says nothing by itself."""

from __future__ import annotations

from tacit.data.staging import Staging


def test_long_queries_draw_no_progress_bar():
    with Staging() as staging:
        assert staging.value("SELECT current_setting('enable_progress_bar')") is False
