"""Answers to problems from files, written as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from solvers import Solution
from solvers.conversions import Conversion

from .atomic import whole_file


def write_answers(path: Path, conversion: Conversion, solution: Solution, seconds: float) -> None:
    """Writes z, score, certificate, bound, solver and time, and the objective of the file's own format.

    Raises:
        OSError: the file cannot be written.
    """
    answer = {
        "solver": solution.solver,
        "seconds": seconds,
        "z": solution.z.tolist(),
        "value": conversion.value(solution.score).tolist(),
        "score": solution.score.tolist(),
        "optimal": solution.optimal.tolist(),
        "bound": solution.bound.tolist(),
        "stats": {name: str(value) for name, value in solution.stats.items()},
    }
    with whole_file(path) as part:
        part.write_text(json.dumps(answer) + "\n", encoding="utf-8")
