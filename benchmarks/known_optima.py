"""Collections of published instances, whose best values are known, and how each is solved here."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvers import Problem, select_solver, solver_class
from solvers.conversions.conversion import Conversion
from solvers.formats import read_problem

ROUNDING = 1e-12
"""Relative: published values of Markov networks are sums of rounded logarithms."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Collection:
    """Instances of one source and the solver for them.

    Attributes:
        name: of the collection.
        folder: under `problems`, with an index.json.
        pattern: of the names that belong to it.
        solver: a registry name, or "auto".
        seconds: time limits, tried one after the other until the best known value is reached.
        largest: greatest n.
        format: of the files, where their names do not say.
    """

    name: str
    folder: str
    pattern: str
    solver: str
    seconds: tuple[float, ...]
    largest: int | None = None
    format: str | None = None


PROVED, SEARCHED = (60.0,), (0.1, 1.0, 10.0)
COLLECTIONS = (
    Collection("qubo, n <= 125", "qubo", r"bqp(50|100)-|gka\d+[abc]$|be100\.", "auto", PROVED, 125),
    Collection("qubo, n <= 500", "qubo", r"bqp(250|500)-|gka\d+[de]$|be(120|150|200|250)\.", "local_search", SEARCHED),
    Collection("qubo, n = 1000", "qubo", r"bqp1000-", "local_search", SEARCHED, format="orlib"),
    Collection("max-cut: rudy", "maxcut", r"(g05|pm1[ds]|p?w\d\d)_", "local_search", SEARCHED, format="maxcut"),
    Collection("max-cut: G-set", "maxcut", r"G\d+$", "local_search", SEARCHED, 800, "maxcut"),
    Collection("max-cut: Ising", "maxcut", r"ising|t[23]g", "local_search", SEARCHED, format="maxcut"),
    Collection("Markov grids, n <= 400", "mrf", r"(mar_G|g)rid", "auto", (20.0,), 400),
    Collection("Markov grids, n > 400", "mrf", r"grid[48]0", "local_search", (*SEARCHED, 60.0)),
    Collection("Markov segmentations", "mrf", r".*Segmentation", "auto", (20.0,)),
    Collection("maximum flows", "maxflow", r".*\.max$", "auto", (20.0,)),
)  # fmt: skip


def rows_of(collection: Collection, problems: Path) -> list[Row]:
    """The rows of the index that belong to the collection, but for networks of more than two states."""
    index = json.loads((problems / collection.folder / "index.json").read_text())
    rows = index if isinstance(index, list) else index["instances"]
    return [
        row
        for row in rows
        if re.match(collection.pattern, row["name"], re.IGNORECASE)
        and row["n"] <= (collection.largest or row["n"])
        and row.get("max_card", 2) == 2
    ]


def solve_instance(collection: Collection, problems: Path, row: Row) -> Row:
    """Value found, whether it is the best known one, whether it is proved, and how long it took.

    `seconds` is the time of the last attempt; each starts anew.
    """
    file = problems / collection.folder / row["file"]
    conversion = read_problem(file, collection.format or _format(collection))
    best = row["best_known"] if "best_known" in row else row["optimal"]
    attempts = (
        _attempt(conversion, collection.solver, seconds, best) for seconds in collection.seconds
    )
    answer = next(attempts)
    for later in attempts if not answer["reached"] else ():
        answer = min(answer | {"seconds": later["seconds"]}, later, key=lambda found: found["gap"])
        if answer["reached"]:
            break
    return {"name": row["name"], "n": conversion.problem.n, "best_known": best, **answer}


def _format(collection: Collection) -> str | None:
    return "qubo" if collection.folder == "qubo" else None


def _attempt(conversion: Conversion, name: str, seconds: float, best: float) -> Row:
    problem: Problem = conversion.problem
    start = time.perf_counter()
    solver = select_solver(problem).solver if name == "auto" else solver_class(name)()
    solution = solver.solve(problem, seconds)
    elapsed = time.perf_counter() - start
    value = float(conversion.value(solution.score))
    missing = conversion.sign * (best - value)
    return {
        "solver": solution.solver,
        "value": value,
        "gap": max(0.0, missing / max(abs(best), 1.0)),
        "reached": missing <= ROUNDING * abs(best),
        "proved": bool(solution.optimal),
        "seconds": elapsed,
    }
