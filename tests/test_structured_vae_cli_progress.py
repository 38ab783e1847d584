"""The line that `structured-vae solve` shows on a terminal names every number."""

import math
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from solvers import Progress
from solvers.conversions import from_qubo
from structured_vae.cli.solve.live import Live


@pytest.mark.parametrize(
    ("score", "bound", "expected"),
    [
        (0.0, 5.5, "0/1 solved, best 0, bound -5.5"),
        (-math.inf, 5.5, "0/1 solved, no state yet, bound -5.5"),
        (0.0, math.inf, "0/1 solved, best 0, no bound yet"),
        (-math.inf, math.inf, "0/1 solved, no state yet, no bound yet"),
    ],
)
def test_a_line_names_the_best_value_and_its_bound_and_says_where_there_is_none(
    limits, score, bound, expected
):
    limits(progress_delay=0.0)
    conversion = from_qubo({("a", "b"): -1.0, ("a", "a"): 2.0})  # minimised
    terminal = Console(file=StringIO(), force_terminal=True, width=120)
    with Live("problem.qubo", conversion, terminal) as live:
        live.done(0)
        live.heard(Progress(np.zeros((1, 2), np.int8), np.array([score]), np.array([bound]), 1.0))
    shown = re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", terminal.file.getvalue())
    assert expected in " ".join(shown.split())
