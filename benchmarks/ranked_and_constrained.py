"""`k_best=` and `constraints=` against enumeration, for every backend that takes them.

    python benchmarks/ranked_and_constrained.py --instances 2000 --output FILE.json

Instances are those of the conformance kit, of up to 8 variables. Constraints are drawn of all
kinds, for `elimination` counts of one group on forests, for `branch_and_bound` on any graph. An
answer is wrong where a proved score is not that of enumeration within `Problem.rounding`, a state
breaks a constraint or is there twice, a bound is too low, or feasible and infeasible are confused;
solvers in floating point may leave an instance of wild scores unproved.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import medians
from solvers import InfeasibleError, Problem, Solution, instances, solve, solver_class
from solvers.constraints import Constraint, at_least, at_most, cardinality, implies, linear, one_of
from solvers.instances import Instances
from solvers.testing import random_instances
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

RANKING = (
    "auto",
    "exhaustive",
    "elimination",
    "branch_and_bound",
    "dual_ascent",
    "mini_buckets",
    "cycle_cuts",
)
CONSTRAINED = ("exhaustive", "elimination", "branch_and_bound", "cp_sat", "highs", "cplex")
COUNTING = ("elimination", "branch_and_bound")
MOST_VARIABLES, MOST_STATES = 8, 6


@dataclass(frozen=True, eq=False)
class Drawn:
    """A constraint, and what it means in whole numbers: low <= weights z <= high."""

    constraint: Constraint
    weights: np.ndarray
    low: int
    high: int


def constraint(generator: np.random.Generator, n: int, counts: list[int] | None) -> Drawn:
    """One of any kind; of a count of a group alone where that is given."""
    group = counts or [
        int(i) for i in generator.permutation(n)[: int(generator.integers(1, n + 1))]
    ]
    k, ones = int(generator.integers(len(group) + 1)), np.zeros(n, np.int64)
    ones[group] = 1
    kind = generator.integers(3 if counts else 6)
    if kind == 0:
        return Drawn(at_most(k, group), ones, 0, k)
    if kind == 1:
        return Drawn(at_least(k, group), ones, k, n)
    if kind == 2:
        return Drawn(one_of(group), ones, 1, 1)
    if kind == 3:
        k = int(generator.integers(n + 1))
        return Drawn(cardinality(k), np.ones(n, np.int64), k, k)
    if kind == 4 and n > 1:
        i, j = (int(v) for v in generator.permutation(n)[:2])
        return Drawn(
            implies(i, j), np.eye(n, dtype=np.int64)[j] - np.eye(n, dtype=np.int64)[i], 0, n
        )
    tenths, right = generator.integers(-9, 10, n), int(generator.integers(-9, 20))
    return Drawn(linear((tenths / 10).tolist(), "<=", right / 10), tenths, -100 * n, right)


def states(n: int) -> np.ndarray:
    """`[2^n, n]`."""
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def scores(problem: Problem) -> np.ndarray:
    """`[2^n, batch]`, of the order of `states`."""
    z, ends = states(problem.n), problem.edges
    return z @ problem.unary.T + (z[:, ends[:, 0]] * z[:, ends[:, 1]]) @ problem.pairwise.T


def wrong(
    problem: Problem, solution: Solution, feasible: np.ndarray, count: int
) -> tuple[int, int]:
    """How many instances are wrong, and how many unproved; `feasible [2^n]`, `count` states a ranking."""
    best = -np.sort(-scores(problem)[feasible].T, axis=1)[:, :count]
    z = solution.z.reshape(problem.batch, count, problem.n)
    codes = z.astype(np.int64) @ (1 << np.arange(problem.n))
    given = {
        name: getattr(solution, name).reshape(problem.batch, count)
        for name in ("score", "bound", "optimal")
    }
    rounding = problem.rounding[:, None]
    allowed = feasible[codes] & (given["bound"] >= best - rounding)
    # What is said to be proved is the maximum; what is not, is at most.
    proved, off = given["optimal"], given["score"] - best
    right = (allowed & np.where(proved, np.abs(off) <= rounding, off <= rounding)).all(axis=1)
    right &= [len(np.unique(row)) == count for row in codes]
    return int((~right).sum()), int((right & ~proved.all(axis=1)).sum())


def batches(
    instances: int, seed: int, forests: bool = False
) -> Iterator[tuple[Problem, np.random.Generator]]:
    """Problems of three instances each, and what goes on drawing."""
    generator = np.random.default_rng(seed)
    for drawn in random_instances(-(-instances // 3), MOST_VARIABLES, generator):
        kept = _forest(drawn) if forests else drawn
        yield kept.problem(), generator


def _forest(drawn: Instances) -> Instances:
    """Without the edges that close a circle."""
    root, kept = list(range(drawn.unary.shape[1])), []
    for e, (i, j) in enumerate(drawn.edges.tolist()):
        a, b = root[i], root[j]
        if a != b:
            root = [b if r == a else r for r in root]
            kept.append(e)
    return Instances(drawn.unary, drawn.pairwise[:, kept], drawn.edges[kept])


def ranked(name: str, instances: int, seed: int) -> dict[str, int]:
    """Counts of `k_best=`."""
    total = false = open_ = 0
    for problem, generator in batches(instances, seed):
        count = min(2**problem.n, int(generator.integers(1, MOST_STATES + 1)))
        total += problem.batch
        if name == "auto" or not solver_class(name)().why_not(problem):
            solution = solve(problem, solver=name, k_best=count)
            found = wrong(problem, solution, np.ones(2**problem.n, bool), count)
            false, open_ = false + found[0], open_ + found[1]
    return {"instances": total, "unproved": open_, "wrong": false}


def constrained(name: str, instances: int, seed: int, several: bool) -> dict[str, int]:
    """Counts of `constraints=`, and of both together where several states are asked for."""
    total = false = infeasible = open_ = 0
    counts = name in COUNTING
    for problem, generator in batches(instances, seed, forests=name == "elimination"):
        n, number = problem.n, int(generator.integers(1, 4))
        group = (
            [int(i) for i in generator.permutation(n)[: int(generator.integers(1, n + 1))]]
            if counts
            else None
        )
        drawn = [constraint(generator, n, group) for _ in range(number)]
        sums = np.stack([states(n) @ each.weights for each in drawn])
        low, high = (
            np.array([getattr(each, end) for each in drawn])[:, None] for end in ("low", "high")
        )
        feasible = ((sums >= low) & (sums <= high)).all(axis=0)
        asked = min(MOST_STATES // 2, int(feasible.sum())) if several else 1
        options: dict[str, Any] = {"k_best": asked} if several and asked else {}
        total += problem.batch
        try:
            solution = solve(
                problem, solver=name, constraints=[each.constraint for each in drawn], **options
            )
        except InfeasibleError:
            infeasible += problem.batch
            false += problem.batch * bool(feasible.any())
        else:
            found = (
                wrong(problem, solution, feasible, asked) if feasible.any() else (problem.batch, 0)
            )
            false, open_ = false + found[0], open_ + found[1]
    return {"instances": total, "infeasible": infeasible, "unproved": open_, "wrong": false}


TEN = 10


def ten_best(rounds: int) -> dict[str, dict[str, float]]:
    """CPU milliseconds of one solve and of `k_best=10` beside each other, and their ratio."""
    random = np.random.default_rng(0)
    tasks = {
        "n=15, batch of 100": instances.dense(15, 100, random),
        "tree of 1,000": instances.tree(1000, 1, random),
        "dense n=60": instances.dense(60, 1, random),
    }
    found = {}
    for name, drawn in tasks.items():
        problem = drawn.problem()
        calls = {"one": partial(solve, problem), "ten": partial(solve, problem, k_best=TEN)}
        times = medians(calls, rounds, 1, clock=time.process_time, seconds=60.0)
        found[name] = {**times, "ratio": times["ten"] / times["one"]}
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prints the table and writes the record; returns the number of wrong answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--instances", type=int, default=2000, help="of each backend, which come in threes"
    )
    parser.add_argument("--together", type=int, default=500, help="of each backend with both")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--times", type=int, default=0, help="rounds of times alone, into a record that is there"
    )
    parser.add_argument("--output", type=Path, default=Path("results/ranked_and_constrained.json"))
    parser.add_argument(
        "--again",
        nargs="*",
        default=(),
        help="constrained backends alone, into a record that is there",
    )
    options = parser.parse_args(arguments)
    if options.again:
        known = json.loads(options.output.read_text(encoding="utf-8"))
        for name in options.again:
            now = {"commit": environment()["commit"]}
            known["constraints"][name] = (
                constrained(name, options.instances, options.seed, several=False) | now
            )
            if name not in COUNTING:
                together = constrained(name, options.together, options.seed, several=True) | now
                known["k_best within constraints"][name] = together
        with whole_file(options.output) as part:
            part.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        return 0
    if options.times:
        known = json.loads(options.output.read_text(encoding="utf-8"))
        times = {"commit": environment()["commit"], "cpu_ms": ten_best(options.times)}
        with whole_file(options.output) as part:
            part.write_text(
                json.dumps({**known, "ten best": times}, indent=1) + "\n", encoding="utf-8"
            )
        return 0
    able = [name for name in CONSTRAINED if not solver_class(name).missing_packages()]
    ranking = [
        name for name in RANKING if name == "auto" or not solver_class(name).missing_packages()
    ]
    several = [name for name in able if name not in COUNTING]
    given = options.instances, options.seed
    record: dict[str, dict[str, dict[str, int]]] = {
        "k_best": {name: ranked(name, *given) for name in ranking},
        "constraints": {name: constrained(name, *given, several=False) for name in able},
        "k_best within constraints": {
            name: constrained(name, options.together, options.seed, several=True)
            for name in several
        },
    }
    table = Table("what", "backend", "instances", "infeasible", "unproved", "wrong")
    for what, rows in record.items():
        for name, row in rows.items():
            table.add_row(
                what,
                name,
                *(
                    str(row.get(key, ""))
                    for key in ("instances", "infeasible", "unproved", "wrong")
                ),
            )
    Console(width=100).print(table)
    with whole_file(options.output) as part:
        part.write_text(
            json.dumps({**environment(), "seed": options.seed, **record}, indent=1) + "\n",
            encoding="utf-8",
        )
    return sum(row["wrong"] for rows in record.values() for row in rows.values())


if __name__ == "__main__":
    sys.exit(min(main(), 100))
