"""The networks that come with toulbar2: who finds and who proves their optima, and in how many seconds of CPU time.

    STRUCTURED_VAE_DATA=FOLDER python benchmarks/label_proofs.py --output results/label_proofs.json

toulbar2 is the backend of that name, with its own defaults; the seconds that a process takes to
start are not counted, nor are the compilations of ours. That start varies by hundredths of a
second, so times below `LEAST` are not compared. Ours (`auto`) has twice the seconds that toulbar2
needed, and those of the limit where it proved nothing; toulbar2 has ten times the limit, of the
clock. Both have one thread and take turns in one process.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console

from benchmarks.stereo import compiled, cpu
from benchmarks.structured_data import network_files
from solvers import SolverError
from solvers.labels import solve
from solvers.labels.formats import read_problem
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

LEAST = 0.05
"""Seconds that ours has in any case. Shorter times are below what the start of a process varies by."""

CLOCK = 10
"""Seconds of the clock for one of CPU time, at most: other programs share the machine."""


def row(conversion: Any, solver: str, seconds: float, less: float = 0.0) -> dict[str, Any]:
    """What a backend finds in so many seconds of CPU time."""
    begin = cpu()
    over = seconds + less

    def hear(known: Any) -> bool:
        return cpu() - begin > over

    limit = CLOCK * over
    try:
        answer = solve(conversion, solver=solver, time_limit=limit, callback=hear)
    except SolverError as error:
        return {"failed": f"{type(error).__name__}: {error}"[:200], "seconds": cpu() - begin - less}
    return {
        "value": answer.value,
        "bound": answer.bound,
        "optimal": answer.optimal,
        "solver": answer.solution.solver,
        "seconds": max(cpu() - begin - less, 0.0),
    }


def seconds_shown(seconds: float) -> str:
    """Return the seconds of a row in words, without digits below the resolution."""
    return f"{seconds:.2f} s" if seconds >= LEAST else f"< {LEAST:g} s"


def answer_shown(row: dict[str, Any]) -> str:
    """Return the cost that a backend found, whether it is proved, and the seconds."""
    if "failed" in row:
        return "failed"
    proof = "" if row["optimal"] else " (open)"
    return f"{row['value']:.7g}{proof}, {seconds_shown(row['seconds'])}"


def table_rows(rows: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the lines of the table of a record: network, sizes, both answers, and which of our solvers answered."""
    return [
        (
            *(name, f"{row['variables']}, {row['labels']}"),
            *(answer_shown(row["toulbar2"]), answer_shown(row["ours"])),
            f"`{row['ours'].get('solver', 'auto')}`",
        )
        for name, row in rows.items()
    ]


def start() -> float:
    """Seconds of toulbar2's process for next to nothing."""
    taken = []
    for _ in range(3):
        begin = cpu()
        solve(np.zeros((2, 2)), potts=1.0, edges=[[0, 1]], solver="toulbar2")
        taken.append(cpu() - begin)
    return float(np.median(taken))


def main() -> None:
    """Solves, prints and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--seconds", type=float, default=60.0, help="the limit")
    parser.add_argument("--output", type=Path, help="a file")
    options = parser.parse_args()
    console, rows, starts = Console(width=140), dict[str, Any](), start()
    record = {**environment(), "limit": options.seconds, "start": starts, "rows": rows}
    for solver in ("dual_ascent", "elimination"):
        compiled(solver)
    for file in network_files():
        name = file.name.partition(".")[0]
        if not re.search(options.only, name):
            continue
        conversion = read_problem(file)
        problem = conversion.problem
        theirs = row(conversion, "toulbar2", options.seconds, starts)
        limit = 2 * theirs["seconds"] if theirs.get("optimal") else options.seconds
        ours = row(conversion, "auto", max(limit, LEAST))
        sizes = {"variables": problem.n, "labels": problem.k, "edges": problem.e}
        rows[name] = {**sizes, "toulbar2": theirs, "ours": ours}
        console.print(name, sizes, "toulbar2", answer_shown(theirs), "ours", answer_shown(ours))
        if options.output:
            with whole_file(options.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
