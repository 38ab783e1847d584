"""Answers to problems from files, written as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solvers.conversions import Conversion

from ...atomic import whole_file
from .chunks import Answers


def answer_record(file: str, conversion: Conversion, answers: Answers) -> dict[str, Any]:
    """z, score, certificate, bound, solver and time, and the objective of the file's own format."""
    solution = answers.solution
    return {
        "file": file,
        "solver": solution.solver,
        "seconds": answers.seconds,
        "reached": answers.reached,
        "z": solution.z.tolist(),
        "value": conversion.value(solution.score).tolist(),
        "score": solution.score.tolist(),
        "optimal": solution.optimal.tolist(),
        "bound": solution.bound.tolist(),
        "stats": {name: _plain(value) for name, value in solution.stats.items()},
    }


def _plain(value: Any) -> Any:
    """A number or a list of numbers where it is one, of numpy or not; else its text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, bool | int | float) else str(value)


def write_answers(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Writes the record of one file as it is, and those of several as a list.

    Raises:
        OSError: the file cannot be written.
    """
    content = records[0] if len(records) == 1 else list(records)
    with whole_file(path) as part:
        part.write_text(json.dumps(content) + "\n", encoding="utf-8")


def check_writable(path: Path) -> None:
    """Raises an OSError now that `write_answers` would raise after all the work."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
