"""Instances with known optima: which are found, which are proved, and in what time.

    STRUCTURED_VAE_DATA=... python benchmarks/library.py --output results/library.json

Reads the folder `problems` of the data root: QUBO of the Biq Mac and OR libraries. One thread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from solvers import ArgmaxSolver
from solvers.branch_and_bound import BranchAndBound
from solvers.formats import read_problem
from solvers.local_search import LocalSearch
from structured_vae.atomic import whole_file
from structured_vae.record import environment

PROVED = re.compile(r"bqp(50|100)-|gka\d+[abc]$|be100\.")
FOUND = re.compile(r"bqp(250|500|1000)-|gka\d+[de]$|be(120|150|200|250)\.")
LARGEST_PROVED = 125


def solve_instance(folder: Path, row: dict[str, Any], solver: ArgmaxSolver, seconds: float) -> dict[str, Any]:
    """Value found, whether it is the best known one, whether it is proved, and how long it took."""
    form = "orlib" if row["name"].startswith("bqp1000") else "qubo"
    conversion = read_problem(folder / row["file"], form)
    start = time.perf_counter()
    solution = solver.solve(conversion.problem, seconds)
    value = float(conversion.value(solution.score).reshape(-1)[0])
    best = abs(row["best_known"])
    return {
        "name": row["name"],
        "n": row["n"],
        "value": value,
        "best_known": row["best_known"],
        "gap": (best - abs(value)) / best,
        "reached": abs(value) >= best,
        "proved": bool(solution.optimal.all()),
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    """Prints a summary and writes a row an instance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=os.environ.get("STRUCTURED_VAE_DATA"))
    parser.add_argument("--exact_seconds", type=float, default=60.0)
    parser.add_argument("--search_seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="a regular expression on names")
    parser.add_argument("--output", type=Path, default=Path("results/library.json"))
    options = parser.parse_args()
    if options.root is None:
        parser.error("name the data root: --root DIR or STRUCTURED_VAE_DATA=DIR")
    folder = Path(options.root) / "problems" / "qubo"
    rows = json.loads((folder / "index.json").read_text())["instances"]
    rows = [row for row in rows if re.search(options.only, row["name"])]
    exact = [row for row in rows if PROVED.match(row["name"]) and row["n"] <= LARGEST_PROVED]
    search = [row for row in rows if FOUND.match(row["name"])]
    tasks = {
        "branch_and_bound": (exact, BranchAndBound(threads=1), options.exact_seconds),
        "local_search": (search, LocalSearch(), options.search_seconds),
    }
    table = Table("solver", "instances", "best known reached", "proved", "seconds in all", "largest gap")
    record: dict[str, Any] = {**environment(), "solvers": {}}
    for name, (instances, solver, seconds) in tasks.items():
        answers = [solve_instance(folder, row, solver, seconds) for row in instances]
        record["solvers"][name] = answers
        if not answers:
            continue
        sums = (sum(answer[key] for answer in answers) for key in ("reached", "proved", "seconds"))
        reached, proved, total = sums
        gap = max(answer["gap"] for answer in answers)
        table.add_row(name, str(len(answers)), str(reached), str(proved), f"{total:.1f}", f"{gap:.2g}")
    Console(width=110).print(table)
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
