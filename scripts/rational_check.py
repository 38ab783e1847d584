"""Certificates against enumeration in exact arithmetic, on hostile instances: `python scripts/rational_check.py`.

Scores become whole numbers of the finest unit that an instance has, so that no sum over them is rounded. Where a solver
says `optimal`, the score has to be the maximum within `Problem.rounding`, and the bound may be below the maximum
by no more. The exit status is the number of false claims. A line is printed when a backend ends; 20,000 instances
take one of ours a minute or some, third parties longer, so that runs of a backend each may go side by side.

    python scripts/rational_check.py --count 20000 --only cycle_cuts
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from tqdm import tqdm

from solvers import ArgmaxSolver, Problem, available_solvers, solver_class
from solvers.instances import Instances
from solvers.testing import random_instances

LIMIT = 0.5
"""Seconds for a batch of three: what is not proved by then claims nothing but its bound."""

BETWEEN = 0.1 if sys.stderr.isatty() else 20.0
"""Seconds between two reports of how far it is; a log gets few."""


def exact_maxima(problem: Problem) -> list[Fraction]:
    """The maximum of each instance, without rounding."""
    return [
        _maximum(unary.tolist(), pairwise.tolist(), problem.edges.tolist())
        for unary, pairwise in zip(
            problem.unary.astype(np.float64), problem.pairwise.astype(np.float64), strict=True
        )
    ]


def _maximum(unary: list[float], pairwise: list[float], edges: list[list[int]]) -> Fraction:
    scores = [Fraction(score) for score in (*unary, *pairwise)]
    unit = math.lcm(*(score.denominator for score in scores))
    whole = [int(score * unit) for score in scores]
    total = np.zeros(1, object)
    for i in range(len(unary)):
        with_i = total + whole[i]
        for (a, b), weight in zip(edges, whole[len(unary) :], strict=True):
            if b == i:
                with_i = with_i + weight * (np.arange(len(total)) >> a & 1).astype(object)
        total = np.concatenate((total, with_i))
    return Fraction(max(total), unit)


def drawn(count: int, most: int, seed: int) -> Iterator[Instances]:
    """Batches of the conformance kit, of fields and of couplings alone in turn."""
    generator = np.random.default_rng(seed)
    for number, batch in enumerate(random_instances(count, most, generator)):
        if number % 2:
            field = np.zeros_like(batch.unary)
            for end in batch.edges.T:
                np.subtract.at(field.T, end, batch.pairwise.T / 2)
            batch = Instances(field, batch.pairwise, batch.edges)
        yield batch


def false_claims(solver: ArgmaxSolver, batches: list[tuple[Problem, list[Fraction]]]) -> tuple[int, int, int]:
    """How many instances there were, how many said `optimal`, and how many claims were false."""
    instances = optimal = false = 0
    for problem, maxima in tqdm(batches, desc=solver.name, mininterval=BETWEEN):
        if solver.why_not(problem):
            continue
        solution = solver.solve(problem, LIMIT if solver.capabilities.time_limit else None)
        for maximum, score, bound, proved, rounding in zip(
            maxima, solution.score, solution.bound, solution.optimal, problem.rounding, strict=True
        ):
            allowed = Fraction(float(rounding))
            short = Fraction(float(bound)) < maximum - allowed if math.isfinite(bound) else False
            missed = bool(proved) and Fraction(float(score)) < maximum - allowed
            instances, optimal, false = instances + 1, optimal + int(proved), false + int(short or missed)
    return instances, optimal, false


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, a line when a backend ends; returns the number of false claims."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="instances, which come in threes")
    parser.add_argument("--only", default="", help="a regular expression on names of backends")
    parser.add_argument("--variables", type=int, default=9, help="at most; each more doubles the enumeration")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    batches = []
    count = -(-options.count // 3)
    for batch in tqdm(
        drawn(count, options.variables, options.seed), desc="enumeration", total=count, mininterval=BETWEEN
    ):
        problem = batch.problem()
        batches.append((problem, exact_maxima(problem)))
    false = 0
    print(f"{'backend':18}{'instances':>10}{'optimal':>10}{'false claims':>14}", flush=True)
    for info in available_solvers():
        if info.installed and re.search(options.only, info.name):
            row = false_claims(solver_class(info.name)(), batches)
            print(f"{info.name:18}{row[0]:10}{row[1]:10}{row[2]:14}", flush=True)
            false += row[2]
    return false


if __name__ == "__main__":
    sys.exit(min(main(), 100))
