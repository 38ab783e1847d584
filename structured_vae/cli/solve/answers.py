"""Answers to problems from files, written as JSON or as a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solvers import Solution
from solvers.conversions import Conversion

from ...atomic import whole_file
from .chunks import Answers


def answer_record(file: str, conversion: Conversion, answers: Answers) -> dict[str, Any]:
    """z, score, certificate, bound, solver and time, the objective of the file's format, and names if it has some."""
    solution, names = answers.solution, list(conversion.labels)
    return {
        "file": file,
        "solver": solution.solver,
        "seconds": answers.seconds,
        "reached": answers.reached,
        "z": solution.z.tolist(),
        **(
            {} if names == list(range(len(names))) else {"variables": [str(name) for name in names]}
        ),
        "value": objectives(conversion, solution).tolist(),
        "score": solution.score.tolist(),
        "optimal": solution.optimal.tolist(),
        "bound": solution.bound.tolist(),
        "stats": plain_stats(solution.stats),
    }


def objectives(conversion: Conversion, solution: Solution) -> np.ndarray:
    """`[...]`: the objective in the file's own terms; a batch is one of scores, which are that."""
    if solution.z.ndim > 1:
        return np.asarray(conversion.value(solution.score))
    return np.asarray(conversion.objective(solution.z))


def objective_bounds(conversion: Conversion, solution: Solution) -> np.ndarray:
    """`[...]`: the bounds on the objective in the file's own terms."""
    if solution.z.ndim > 1:
        return np.asarray(conversion.value(solution.bound))
    return np.asarray(conversion.objective_bound(solution.z, float(solution.bound)))


def plain_stats(stats: Mapping[str, Any]) -> dict[str, Any]:
    """What a backend counted, as JSON has it."""
    return {name: _plain(value) for name, value in stats.items()}


def _plain(value: Any) -> Any:
    """A number or a list of numbers where it is one, of numpy or not; else its text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, bool | int | float) else str(value)


def write_answers(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Writes the record of one file as it is, and those of several as a list.

    A file named `.csv` gets a table instead: a row an instance, with a column for each variable.

    Raises:
        OSError: the file cannot be written.
    """
    if path.suffix.lower() == ".csv":
        _write_table(path, records)
        return
    content = records[0] if len(records) == 1 else list(records)
    with whole_file(path) as part:
        part.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _write_table(path: Path, records: Sequence[dict[str, Any]]) -> None:
    rows = [row for record in records if "score" in record for row in _rows(record)]
    columns = dict.fromkeys(column for row in rows for column in row)
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows(rows)


def _rows(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each instance of a file; the names of variables come last, and may be any."""
    columns = (np.ravel(record[name]).tolist() for name in ("value", "score", "bound", "optimal"))
    letter, found = ("z", record["z"]) if "z" in record else ("x", record["labels"])
    z = np.atleast_2d(found)
    states = z.reshape(-1, z.shape[-1]).tolist()
    names = [f"{letter} {name}" for name in record.get("variables", range(len(states[0])))]
    for number, (state, *known) in enumerate(zip(states, *columns, strict=True)):
        given = {"file": record["file"], "instance": number, "solver": record["solver"]}
        known_by_name = zip(("value", "score", "bound", "optimal"), known, strict=True)
        yield {**given, **dict(known_by_name), **dict(zip(names, state, strict=True))}


def check_writable(path: Path) -> None:
    """Raises an OSError now that `write_answers` would raise after all the work."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
