"""Every backend against enumeration: how many random instances it solves, and the worst gap.

    python benchmarks/exactness.py --output results/exactness.json

The instances are those of the conformance kit: n from 1 to 12; dense, sparse and no edges; ties,
equal scores, zeros; scales from 1e-12 to 1e12, also mixed within one instance; near-ties below
float32.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from solvers import ArgmaxSolver, available_solvers, solver_class
from solvers.testing import enumerate_scores, random_instances
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

BATCH = 3


def gaps(solver: ArgmaxSolver, instances: int) -> dict[str, float | int]:
    """Compares scores, never assignments: ties are real.

    A gap is the maximum less the score, as a share of the sum of absolute coefficients.
    """
    can = solver.capabilities
    sign = "none" if not can.pairwise else "positive" if can.supermodular_only else "any"
    worst, certified, solved = 0.0, 0, 0
    for drawn in random_instances(-(-instances // BATCH), 12, np.random.default_rng(0), sign=sign):
        problem = drawn.problem()
        solution = solver.solve(problem)
        size = np.maximum(problem.magnitude, np.finfo(float).tiny)
        gap = (enumerate_scores(drawn).max(axis=1) - solution.score) / size
        exact = gap <= 2 * problem.rounding / size
        worst, solved = max(worst, float(gap.max())), solved + int(exact.sum())
        certified += int(solution.optimal.sum())
    total = BATCH * -(-instances // BATCH)
    return {
        "instances": total,
        "solved": solved,
        "certified": certified,
        "worst_relative_gap": worst,
    }


def main() -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("results/exactness.json"))
    options = parser.parse_args()
    names = [info.name for info in available_solvers() if info.capabilities and info.installed]
    backends = {name: gaps(solver_class(name)(), options.instances) for name in names}
    table = Table("backend", "instances", "maximum reached", "certified", "worst relative gap")
    for name, row in backends.items():
        table.add_row(
            name,
            *(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()),
        )
    Console(width=100).print(table)
    with whole_file(options.output) as part:
        part.write_text(
            json.dumps({**environment(), "backends": backends}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
