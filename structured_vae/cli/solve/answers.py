"""Solutions of the problems in files, written as JSON or as a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import OptionError, Solution
from solvers.conversions import Conversion

from ...atomic import whole_file
from .chunks import Answers

RESULTS: Final = ("value", "score", "bound", "optimal")
"""The columns of a table that describe a solution."""


def answer_record(file: str, conversion: Conversion, answers: Answers) -> dict[str, Any]:
    """Make the JSON record of a file: z, value, score, certificate, bound, solver and time.

    It also has the names of the variables, if the file names them.
    """
    solution = answers.solution
    record: dict[str, Any] = {
        "file": file,
        "solver": solution.solver,
        "seconds": answers.seconds,
        "reached": answers.reached,
        "z": solution.z.tolist(),
    }
    names = list(conversion.names)
    if names != list(range(len(names))):
        record["variables"] = [str(name) for name in names]
    record |= {
        "value": objectives(conversion, solution).tolist(),
        "score": np.asarray(solution.score).tolist(),
        "optimal": np.asarray(solution.optimal).tolist(),
        "bound": np.asarray(solution.bound).tolist(),
        "stats": plain_stats(solution.stats),
    }
    return record


def objectives(conversion: Conversion, solution: Solution) -> np.ndarray:
    """Return the objective of the file's format at each solution: `[...]`."""
    # Only .npz files hold a batch, and their objective is the score.
    if solution.z.ndim > 1:
        return np.asarray(conversion.value(solution.score))
    return np.asarray(conversion.objective(solution.z))


def objective_bounds(conversion: Conversion, solution: Solution) -> np.ndarray:
    """Return the bound on the objective of the file's format for each solution: `[...]`."""
    if solution.z.ndim > 1:
        return np.asarray(conversion.value(solution.bound))
    return np.asarray(conversion.objective_bound(solution.z, float(solution.bound)))


def plain_stats(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the statistics of a solver to values that JSON can hold."""
    return {name: _plain(value) for name, value in stats.items()}


def _plain(value: Any) -> Any:
    """Return numbers and arrays as plain Python values, and anything else as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, bool | int | float):
        return value
    return str(value)


def write_answers(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write the records as JSON: a single record as an object, several as a list.

    A file whose name ends in `.csv` gets a table instead, with one row per instance and one column
    per variable.

    Raises:
        OSError: the file cannot be written.
    """
    if path.suffix.lower() == ".csv":
        _write_table(path, records)
        return
    content: Any = list(records)
    if len(records) == 1:
        content = records[0]
    with whole_file(path) as unfinished:
        unfinished.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _write_table(path: Path, records: Sequence[dict[str, Any]]) -> None:
    rows = [row for record in records if "score" in record for row in _rows(record)]
    columns = dict.fromkeys(("file", "instance", "solver", *RESULTS))
    columns |= dict.fromkeys(column for row in rows for column in row)
    with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows(rows)


def _rows(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each instance of a file; the columns of the variables come last."""
    if "z" in record:
        letter = "z"
        states = np.asarray(record["z"])
    else:
        letter = "x"
        states = np.asarray(record["labels"])
    states = states.reshape(np.size(record["score"]), states.shape[-1])  # either may be 0
    names = [f"{letter} {name}" for name in record.get("variables", range(states.shape[-1]))]
    columns = {name: np.ravel(record[name]).tolist() for name in RESULTS}
    for number, state in enumerate(states.tolist()):
        row = {"file": record["file"], "instance": number, "solver": record["solver"]}
        row |= {name: column[number] for name, column in columns.items()}
        row |= dict(zip(names, state, strict=True))
        yield row


def check_writable(path: Path, files: Sequence[str]) -> None:
    """Raise before any work if answers cannot be written, or would replace a problem.

    Args:
        path: the file for the answers.
        files: paths of the problems.

    Raises:
        OptionError: `path` is one of `files`.
        OSError: `path` is a folder, or its folder cannot be made.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    for file in files:
        if is_same_file(path, file):
            raise OptionError(f"the answers would replace the problem {file}; name another file")
    path.parent.mkdir(parents=True, exist_ok=True)


def is_same_file(path: Path, file: str) -> bool:
    """Return whether a path leads to a file that exists, perhaps by a link."""
    return path.exists() and Path(file).exists() and path.samefile(file)
