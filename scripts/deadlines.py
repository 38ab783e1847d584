"""How late every backend that promises a time limit comes back, and how much memory it takes for that.

    python -m scripts.deadlines --limits 0.1 1

Every row is a process of its own, which first solves a small problem, so that packages are loaded
and kernels compiled. The wall clock and the processor's time of the process are shown less the
limit: on a busy machine the processor's time says more, where one thread works. Memory is the peak
less what the process held before the call. Linux alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from solvers import Problem, SolverError, available_solvers, select_solver, solve, solver_class
from solvers.instances import dense

SHAPES = {
    "dense 300": (300, None),
    "dense 600": (600, None),
    "dense 5000": (5000, None),
    "sparse 50000": (50_000, 4),
}
"""n, and the mean degree; None joins all pairs."""

PATIENCE = 300
"""Seconds after which a process is ended."""


def problem_of(n: int, degree: int | None, seed: int = 0) -> Problem:
    """A random problem of both signs, in float32 where every pair is joined."""
    generator = np.random.default_rng(seed)
    if degree is None:
        edges = np.stack(np.triu_indices(n, 1), axis=-1)
        numbers = generator.standard_normal(n + len(edges), dtype=np.float32)
        return Problem.from_arrays(numbers[:n], numbers[n:], edges=edges)
    ends = np.sort(generator.integers(0, n, (degree * n // 2, 2)), axis=1)
    edges = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    weights = generator.standard_normal(len(edges))
    balance = -np.bincount(
        edges.ravel(), np.repeat(weights / 2, 2), n
    )  # else roof duality has little to leave
    return Problem.from_arrays(balance, weights, edges=edges)


def row(name: str, shape: str, limit: float) -> dict[str, float | str]:
    """What one call takes beyond its limit, in this process."""
    small = dense(30, 1, np.random.default_rng(0)).problem()
    solve(small, solver=name, time_limit=1)
    n, degree = SHAPES[shape]
    if name == "auto":  # what it will take is loaded too
        solve(small, solver=select_solver(problem_of(n, degree, 1)).solver, time_limit=0.5)
    solver, problem = solver_class(name)() if name != "auto" else name, problem_of(n, degree)
    solve(problem_of(100, degree), solver=solver, time_limit=0.5)
    held = _memory("VmRSS")
    _memory("VmHWM")
    wall, used = time.perf_counter(), _processor()
    try:
        solution = solve(problem, solver=solver, time_limit=limit)
        gap = float((solution.bound - solution.score)[()] / abs(solution.score))
        outcome = f"{solution.solver}, gap {gap:.3g}"
    except SolverError as error:
        outcome = f"{type(error).__name__}: {error}"
    return {
        "wall": time.perf_counter() - wall - limit,
        "processor": _processor() - used - limit,
        "memory": (_memory("VmHWM") - held) / 2**20,
        "outcome": outcome,
    }


def _processor() -> float:
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _memory(line: str) -> int:
    """Bytes held, VmRSS, or their peak since the last call, VmHWM."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return next(1024 * int(each.split()[1]) for each in status if each.startswith(line))


def _in_process(name: str, shape: str, limit: float) -> dict[str, float | str]:
    command = [sys.executable, "-m", "scripts.deadlines", "--row", name, shape, str(limit)]
    try:
        done = subprocess.run(  # noqa: S603  # this script
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return {
            "wall": np.nan,
            "processor": np.nan,
            "memory": np.nan,
            "outcome": f"over {PATIENCE} s",
        }
    if done.returncode:
        last = (done.stderr.splitlines() or [f"status {done.returncode}"])[-1]
        return {"wall": np.nan, "processor": np.nan, "memory": np.nan, "outcome": last}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Prints the table."""
    timed = [
        info.name
        for info in available_solvers()
        if info.capabilities and info.capabilities.time_limit
    ]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--solvers", nargs="+", default=[*timed, "auto"])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.row:
        name, shape, limit = chosen.row
        print(json.dumps(row(name, shape, float(limit))))
        return
    table = Table("solver", "problem", "limit s", "wall s over", "CPU s over", "MiB", "outcome")
    for shape in chosen.shapes:
        for name in chosen.solvers:
            for limit in chosen.limits:
                found = _in_process(name, shape, limit)
                cells = (f"{found[key]:.2f}" for key in ("wall", "processor"))
                table.add_row(
                    name,
                    shape,
                    f"{limit:g}",
                    *cells,
                    f"{found['memory']:.0f}",
                    str(found["outcome"])[:70],
                )
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
