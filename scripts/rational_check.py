"""Certificates against enumeration in exact arithmetic, on hostile instances: `python scripts/rational_check.py`.

Scores become whole numbers of the finest unit that an instance has, so that no sum over them is rounded. Where a solver
says `optimal`, the score has to be the maximum within `Problem.rounding`, and the bound may be below the maximum
by no more. Backends are checked as they are, `portfolio` (what `auto` does with sparse problems) beside them. The exit
status is the number of false claims, each of which is printed with what draws its batch again.

Instances come in chunks. A line of JSON is appended to the output when a backend ends a chunk, so that the same command
goes on where it was stopped, and runs of several backends may go side by side into one file.

    python scripts/rational_check.py --count 20000 --only cycle_cuts --output checked.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from tqdm import tqdm

from solvers import ArgmaxSolver, Problem, available_solvers, solver_class
from solvers.instances import Instances
from solvers.solving.portfolio import Portfolio
from solvers.testing import random_instances

LIMIT = 0.5
"""Seconds for a batch of three, of exact searches: what is not proved by then claims nothing but its bound."""

BETWEEN = 0.1 if sys.stderr.isatty() else 30.0
"""Seconds between two reports of how far it is; a log gets few."""

CHUNK = 500
"""Batches of three whose outcome is one line of the output."""

DIGIT = 30
"""Bits of a digit of the whole numbers that are added up in vectors of 64 bits: 2^33 of them may be added."""

Exact: TypeAlias = list[tuple[Problem, list[Fraction]]]
"""Problems of a chunk, and the maximum of each of their instances."""


def exact_maxima(problem: Problem) -> list[Fraction]:
    """The maximum of each instance, without rounding."""
    return [
        _maximum(unary.tolist(), pairwise.tolist(), problem.edges)
        for unary, pairwise in zip(
            problem.unary.astype(np.float64), problem.pairwise.astype(np.float64), strict=True
        )
    ]


def _maximum(unary: list[float], pairwise: list[float], edges: np.ndarray) -> Fraction:
    scores = [Fraction(score) for score in (*unary, *pairwise)]
    unit = math.lcm(*(score.denominator for score in scores))
    whole = _digits([int(score * unit) for score in scores])
    total = np.zeros((len(whole), 1), np.int64)
    for i in range(len(unary)):
        with_i = total + whole[:, i, None]
        for pair in np.flatnonzero(edges[:, 1] == i):
            with_i += whole[:, len(unary) + pair, None] * (np.arange(total.shape[1]) >> edges[pair, 0] & 1)
        total = np.concatenate((total, with_i), axis=1)
    return Fraction(_largest(total), unit)


def _digits(whole: list[int]) -> np.ndarray:
    """`[digits, len(whole)]`: the absolute values in digits of `DIGIT` bits, least first, each with the sign."""
    length = 1 + max(map(abs, whole)).bit_length() // DIGIT
    digits = [
        [(abs(k) >> DIGIT * d) % (1 << DIGIT) * (1 if k >= 0 else -1) for k in whole] for d in range(length)
    ]
    return np.array(digits, np.int64)


def _largest(total: np.ndarray) -> int:
    """The largest of the numbers whose digits are columns, which may be negative and too large for a digit."""
    carried = []
    carry = np.zeros(total.shape[1], np.int64)
    for digit in total:
        carry = digit + carry
        carried.append(carry & ((1 << DIGIT) - 1))
        carry = carry >> DIGIT
    value, left = 0, np.arange(total.shape[1])
    for digit in (carry, *reversed(carried)):
        most = digit[left].max()
        left = left[digit[left] == most]
        value = (value << DIGIT) + int(most)
    return value


def drawn(count: int, most: int, seed: int) -> Iterator[Instances]:
    """Batches of the conformance kit, of fields and of couplings alone in turn, every third with few pairs."""
    generator = np.random.default_rng(seed)
    for number, batch in enumerate(random_instances(count, most, generator)):
        if (
            number % 3 == 2
        ):  # what reductions take out: nodes of few neighbours, articulation points, components
            kept = generator.random(len(batch.edges)) * batch.unary.shape[1] < 3
            batch = Instances(batch.unary, batch.pairwise[:, kept], batch.edges[kept])
        if number % 2:
            field = np.zeros_like(batch.unary)
            for end in batch.edges.T:
                np.subtract.at(field.T, end, batch.pairwise.T / 2)
            batch = Instances(field, batch.pairwise, batch.edges)
        yield batch


@lru_cache(maxsize=2)
def enumerated(count: int, most: int, seed: int) -> Exact:
    """A chunk with its maxima."""
    problems = [batch.problem() for batch in drawn(count, most, seed)]
    return [(problem, exact_maxima(problem)) for problem in problems]


def false_claims(solver: ArgmaxSolver, batches: Exact) -> tuple[Counter[str], list[str]]:
    """Counts of `instances`, of those called `optimal` and of `false` claims, and a line for each of these."""
    counts: Counter[str] = Counter(instances=0, optimal=0, false=0)
    lines = []
    for number, (problem, maxima) in enumerate(batches):
        if solver.why_not(problem):
            continue
        limited = solver.capabilities.time_limit and solver.capabilities.exact
        solution = solver.solve(problem, LIMIT if limited else None)
        for k, maximum in enumerate(maxima):
            score, bound = float(solution.score[k]), float(solution.bound[k])
            allowed = Fraction(float(problem.rounding[k]))
            short = math.isfinite(bound) and Fraction(bound) < maximum - allowed
            missed = bool(solution.optimal[k]) and Fraction(score) < maximum - allowed
            counts.update(instances=1, optimal=int(solution.optimal[k]), false=int(short or missed))
            if short or missed:
                lines.append(
                    f"batch {number}, instance {k}: score {score!r}, bound {bound!r}, maximum {maximum}"
                )
    return counts, lines


def checked(only: str) -> Iterator[ArgmaxSolver]:
    """The installed backends of such names, and the portfolio."""
    for info in available_solvers():
        if info.installed and re.search(only, info.name):
            yield solver_class(info.name)()
    if re.search(only, Portfolio.name):
        yield Portfolio()


def known_rows(output: Path | None) -> list[dict[str, int | str]]:
    """What was written by earlier calls."""
    if output is None or not output.exists():
        return []
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, a line when a backend ends; returns the number of false claims."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="instances, which come in threes")
    parser.add_argument("--only", default="", help="a regular expression on names of backends")
    parser.add_argument(
        "--variables", type=int, default=14, help="at most; each more doubles the enumeration"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first chunk")
    parser.add_argument("--output", type=Path, help="JSON lines, read and appended to")
    options = parser.parse_args(arguments)
    count = -(-options.count // 3)
    chunks = [
        (min(CHUNK, count - at), options.variables, options.seed + k)
        for k, at in enumerate(range(0, count, CHUNK))
    ]
    known = {
        (row["backend"], row["count"], row["variables"], row["seed"]): row
        for row in known_rows(options.output)
    }
    false = 0
    print(f"{'backend':18}{'instances':>10}{'optimal':>10}{'false claims':>14}", flush=True)
    for solver in checked(options.only):
        total: Counter[str] = Counter()
        for size, most, seed in tqdm(chunks, desc=solver.name, mininterval=BETWEEN):
            row = known.get((solver.name, size, most, seed))
            if row is None:
                counts, lines = false_claims(solver, enumerated(size, most, seed))
                for line in lines:
                    print(
                        f"{solver.name}, seed {seed} of {size} batches up to {most} variables, {line}",
                        flush=True,
                    )
                row = {"backend": solver.name, "count": size, "variables": most, "seed": seed, **counts}
                if options.output is not None:
                    with options.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            total.update({key: int(row[key]) for key in ("instances", "optimal", "false")})
        print(f"{solver.name:18}{total['instances']:10}{total['optimal']:10}{total['false']:14}", flush=True)
        false += total["false"]
    return false


if __name__ == "__main__":
    sys.exit(min(main(), 100))
