# SPDX-License-Identifier: Apache-2.0
"""Users who take another step than a sum is of are refused; what holds shares shows none."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.contributions import DescendedRows, Residuals, Rows, SeenProducts
from tacit.contributions.by_item import Unadded
from tacit.data.block import UserBlock
from tacit.data.memory import _Kept
from tacit.folding import FoldIn
from tacit.user_steps.projected_gradient import Descended

LEAST_SQUARES = FoldIn(np.ones((3, 2), np.float32))
SECRET = 7654321


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: Residuals(LEAST_SQUARES).step, "only a replay of Frank-Wolfe"),
        (lambda: DescendedRows(LEAST_SQUARES).step, "only a replay of projected gradient"),
        (lambda: SeenProducts(LEAST_SQUARES, 1.0).step, "only users who project"),
    ],
)
def test_users_who_take_another_step_are_refused(ask, told):
    with pytest.raises(TypeError, match=told):
        ask()


def test_records_of_shares_show_none():
    block = UserBlock(np.array([0, 2]), np.array([0, 2], np.int32), np.ones(2, np.float32), 3)
    secret = np.full((1, 2), SECRET)
    records = [
        Rows(1.0).ready(block, 16, 12),
        Unadded({"sum": secret}),
        _Kept(secret, secret, ((2,), secret.dtype)),
        Descended(secret, secret, secret),
    ]
    for record in records:
        assert "private rows>" in repr(record)
        assert "array" not in repr(record)
        assert str(SECRET) not in f"{record} {[record]}"
