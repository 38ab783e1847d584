"""Disparities of stereo pairs: energy, bound and gap of every backend of labels that applies.

    STRUCTURED_VAE_DATA=FOLDER python benchmarks/stereo.py --seconds 60 --output results/stereo.json

Energies are minimised. Of a pair of images a pixel's cost is the mean absolute difference of its
colours, at most 20, and that of two neighbours 4 for each step of disparity between them, at most
8. `tsukuba Potts` is a published energy: 16 labels, and 20 for neighbours that differ. Seconds are
of CPU time, kernels being compiled before; the limit is one of the clock, so that a busy machine
does less in it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console

from benchmarks.structured_data import stereo, tsukuba_potts
from solvers import SolverError, available_solvers, solver_class
from solvers.labels import LabelProblem, solve
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

MOST_COLOUR, STEP, MOST_STEPS = 20.0, 4.0, 2
LEAST_GAP = 0.01
"""When it is reached, seconds are noted."""

PAIRS = {"motorcycle_d4": 16, "motorcycle_d2": 31, "tsukuba": 16}
"""Disparities of the pairs."""

HEURISTIC_BITS = 50_000
"""Bits that `bits` gets at most: its searches are for thousands."""


@dataclass(frozen=True, eq=False)
class Task:
    """An energy, of which scores are what lacks of the constant.

    Attributes:
        problem: to maximise.
        constant: the energy of a score of zero.
        disparity: `[height, width]`, what was measured; None for none.
    """

    problem: LabelProblem[np.ndarray]
    constant: float = 0.0
    disparity: np.ndarray | None = None

    def wrong(self, labels: np.ndarray) -> float | None:
        """The share of pixels, where disparity is known and its label can be had, that are off by more than one."""
        if self.disparity is None:
            return None
        known = self.disparity.ravel()
        inside = known < self.problem.k
        return float((np.abs(labels - known) > 1)[inside].mean())


def grid_edges(height: int, width: int) -> np.ndarray:
    """`[e, 2]`: neighbours of an image."""
    place = np.arange(height * width).reshape(height, width)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    return np.concatenate([across, np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)])


def of_pair(name: str) -> Task:
    """A pair with truncated linear costs between neighbours."""
    left, right, disparity = stereo(name)
    height, width, k = *disparity.shape, PAIRS[name]
    costs = np.full((height, width, k), MOST_COLOUR)
    for d in range(k):
        difference = np.abs(left[:, d:] - right[:, : width - d]).mean(axis=2)
        costs[:, d:, d] = np.minimum(difference, MOST_COLOUR)
    steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    table = -STEP * np.minimum(steps, MOST_STEPS)
    problem = LabelProblem.from_arrays(
        -costs.reshape(-1, k), table, edges=grid_edges(height, width)
    )
    return Task(problem, disparity=disparity)


def of_potts() -> Task:
    """The published energy."""
    costs, weight = tsukuba_potts()
    height, width, k = costs.shape
    edges = grid_edges(height, width)
    return Task(
        LabelProblem.from_arrays(-costs.reshape(-1, k), potts=weight, edges=edges),
        weight * len(edges),
    )


TASKS: dict[str, Callable[[], Task]] = {"tsukuba Potts": of_potts} | {
    name: lambda name=name: of_pair(name) for name in PAIRS
}


def cpu() -> float:
    """Seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def row(task: Task, solver: str, seconds: float) -> dict[str, Any]:
    """What a backend finds within so many seconds of the clock."""
    begin, near = (cpu(), time.perf_counter()), list[float]()

    def gap_of(score: float, bound: float) -> float:
        return (bound - score) / max(abs(task.constant - score), 1e-300)

    def hear(known: Any) -> None:
        if (
            not near
            and known.score > -np.inf
            and gap_of(float(known.score), float(known.bound)) < LEAST_GAP
        ):
            near.append(cpu() - begin[0])

    try:
        found = solve(task.problem, solver=solver, time_limit=seconds, callback=hear)
    except SolverError as error:
        return {"solver": solver, "failed": f"{type(error).__name__}: {error}"[:200]}
    score, bound = float(found.score), float(found.bound)
    return {
        "solver": solver,
        "energy": task.constant - score,
        "bound": task.constant - bound,
        "gap": gap_of(score, bound),
        "optimal": bool(found.optimal),
        "seconds_to_a_gap_of_one_percent": near[0] if near else None,
        "seconds": cpu() - begin[0],
        "wall_seconds": time.perf_counter() - begin[1],
        "wrong_by_more_than_one": task.wrong(found.labels),
    }


def applicable(problem: LabelProblem) -> list[str]:
    """Installed backends that take a problem of this size."""
    many_bits = int((problem.sizes - 1).sum()) > HEURISTIC_BITS
    names = [
        info.name
        for info in available_solvers("labels")
        if info.installed and info.origin == "built in"
    ]
    return [
        name
        for name in names
        if not (name == "bits" and many_bits)
        and not solver_class(name, "labels")().why_not(problem)
    ]


def compiled(solver: str) -> None:
    """Compiles the kernels of a backend, for tables and for weights, those of searches and of moves too."""
    random, edges = np.random.default_rng(0), grid_edges(12, 12)
    for pairs in (
        {"pairwise": random.normal(size=(4, 4))},
        {"potts": random.normal(size=len(edges))},
    ):
        problem = LabelProblem.from_arrays(random.normal(size=(144, 4)), edges=edges, **pairs)
        if not solver_class(solver, "labels")().why_not(problem):
            solve(problem, solver=solver, time_limit=0.5)


def main() -> None:
    """Solves, prints and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--seconds", type=float, default=60.0, help="of the clock, for each")
    parser.add_argument("--output", type=Path, help="a file")
    options = parser.parse_args()
    console = Console(width=120)
    record: dict[str, Any] = {**environment(), "limit": options.seconds, "tasks": {}}
    for name in options.only:
        task = TASKS[name]()
        problem = task.problem
        rows: list[dict[str, Any]] = []
        about = {"variables": problem.n, "labels": problem.k, "edges": problem.e, "rows": rows}
        record["tasks"][name] = about
        for solver in applicable(problem):
            compiled(solver)
            rows.append(row(task, solver, options.seconds))
            console.print(name, rows[-1])
            if options.output:
                with whole_file(options.output) as part:
                    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
