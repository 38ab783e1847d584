"""How much longer the first solve of a new process takes than the second one.

    python -m scripts.first_call

Every backend gets a process of its own. What is solved has 40 variables, or 20 for enumeration, and
a second is its limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

N = 40
LIMIT = 1.0


def call(name: str) -> dict[str, Any]:
    """Seconds of this process for imports and the first two solves."""
    start = _now()
    import numpy as np

    from solvers import Problem, solve, solver_class

    generator = np.random.default_rng(0)
    n = 20 if name == "exhaustive" else N
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    if name == "elimination":
        edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    elif name in ("dual_ascent", "mini_buckets"):
        edges = edges[generator.random(len(edges)) < 4 / n]
    elif name == "independent":
        edges = edges[:0]
    pairwise = generator.standard_normal(len(edges))
    pairwise = np.abs(pairwise) if name in ("max_flow", "pymaxflow") else pairwise
    problem = Problem.from_arrays(generator.standard_normal(n), pairwise, edges=edges)
    solver = solver_class(name)()
    imported = _now()
    solution = solve(problem, solver=solver, time_limit=LIMIT)
    first = _now()
    solve(problem, solver=solver, time_limit=LIMIT)
    again = _now()
    seconds = {
        "import": [b - a for a, b in zip(start, imported, strict=True)],
        "first": [b - a for a, b in zip(imported, first, strict=True)],
        "again": [b - a for a, b in zip(first, again, strict=True)],
    }
    return {**seconds, "proved": bool(solution.optimal)}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _in_process(name: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603  # this script
        [sys.executable, "-m", "scripts.first_call", "--call", name],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", nargs="+")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.call:
        print(json.dumps(call(chosen.call)))
        return
    from solvers import available_solvers

    table = Table("solver", "import s (CPU)", "first s (CPU)", "again s (CPU)", "proved")
    for name in chosen.solvers or [info.name for info in available_solvers() if info.installed]:
        measured = _in_process(name)
        cells = ("{:.2f} ({:.2f})".format(*measured[key]) for key in ("import", "first", "again"))
        table.add_row(name, *cells, str(measured["proved"]))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
