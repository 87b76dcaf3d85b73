# SPDX-License-Identifier: Apache-2.0
"""How good a model is: on raw ratings (`evaluate`, `judge`), and privately (`private_error`)."""

from tacit.evaluation.metrics import judge
from tacit.evaluation.private import PrivateFigure, private_error
from tacit.evaluation.report import LABEL, Protocol, Report, evaluate
from tacit.evaluation.split import leave_k_out, leave_part_out
from tacit.evaluation.trials import Trial, trial

__all__ = [
    "LABEL",
    "PrivateFigure",
    "Protocol",
    "Report",
    "Trial",
    "evaluate",
    "judge",
    "leave_k_out",
    "leave_part_out",
    "private_error",
    "trial",
]
