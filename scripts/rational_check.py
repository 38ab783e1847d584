"""Certificates against enumeration in exact arithmetic, on hostile instances: `python scripts/rational_check.py`.

Scores become whole numbers of the finest unit that an instance has, so that no sum over them is
rounded. Where a solver says `optimal`, the score has to be the maximum within `Problem.rounding`,
and the bound may be below the maximum by no more. Backends are checked as they are, `portfolio`
(what `auto` does with sparse problems) beside them. The exit status is the number of false claims,
each of which is printed with what draws its batch again.

Instances come in chunks. A line of JSON is appended to the output when a backend ends a chunk, so
that the same command goes on where it was stopped, and runs of several backends may go side by side
into one file.

    python scripts/rational_check.py --count 20000 --only cycle_cuts --output checked.jsonl
    python scripts/rational_check.py --count 20000 --labels --output checked_labels.jsonl
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
from solvers.labels import LabelProblem, LabelSolver, from_factors
from solvers.labels.messages_first import MessagesFirst
from solvers.solving.bits.sparse import SparsePortfolio
from solvers.testing import random_instances

LIMIT = 0.5
"""Seconds for a batch of three, of exact searches: what is not proved by then claims nothing but its bound."""

BETWEEN = 0.1 if sys.stderr.isatty() else 30.0
"""Seconds between two reports of how far it is; a log gets few."""

CHUNK = 500
"""Batches of three whose outcome is one line of the output."""

DIGIT = 30
"""Bits of a digit of the whole numbers that are added up in vectors of 64 bits: 2^33 of them may be added."""

LABEL_BATCH = 30
"""Instances of a batch of labels, which some backends start a process for."""

LABEL_VARIABLES = 6
"""Of an instance of labels, at most."""

MOST_STATES = 1000
"""Assignments of an instance of labels."""

Exact: TypeAlias = list[tuple[Problem | LabelProblem, list[Fraction]]]
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
            with_i += whole[:, len(unary) + pair, None] * (
                np.arange(total.shape[1]) >> edges[pair, 0] & 1
            )
        total = np.concatenate((total, with_i), axis=1)
    return Fraction(_largest(total), unit)


def _digits(whole: list[int]) -> np.ndarray:
    """`[digits, len(whole)]`: the absolute values in digits of `DIGIT` bits, least first, each with the sign."""
    length = 1 + max(map(abs, whole)).bit_length() // DIGIT
    digits = [
        [(abs(k) >> DIGIT * d) % (1 << DIGIT) * (1 if k >= 0 else -1) for k in whole]
        for d in range(length)
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


def exact_label_maxima(problem: LabelProblem) -> list[Fraction]:
    """The maximum of each instance, without rounding; every instance has to allow something."""
    states = np.array(list(np.ndindex(*problem.sizes)))
    n, k = problem.n, problem.k
    places = [i * k + states[:, i] for i in range(n)]
    places += [
        (n + e * k) * k + states[:, i] * k + states[:, j]
        for e, (i, j) in enumerate(problem.edges.tolist())
    ]
    return [
        _label_maximum(problem.instances(slice(b, b + 1)), np.array(places))
        for b in range(problem.batch)
    ]


def _label_maximum(problem: LabelProblem, places: np.ndarray) -> Fraction:
    """Of one instance, whose scores of variables and pairs, in a row, are added up at places `[n + e, states]`."""
    pairwise = problem.all_pairwise() if problem.e else np.zeros(0)
    scores = np.concatenate([problem.unary.astype(np.float64).ravel(), pairwise.ravel()])
    allowed = (scores > -np.inf)[places].all(axis=0)
    finite = [Fraction(score) for score in np.where(scores > -np.inf, scores, 0.0).tolist()]
    unit = math.lcm(*(score.denominator for score in finite))
    whole = _digits([int(score * unit) for score in finite])
    total = np.zeros((len(whole), int(allowed.sum())), np.int64)
    for place in places:
        total += whole[:, place[allowed]]
    return Fraction(_largest(total), unit)


def drawn_labels(count: int, most: int, seed: int) -> Iterator[LabelProblem]:
    """Batches of labels of every kind, with sizes of one, ties, thirds, far apart scales and parallel factors.

    The first value of every variable is allowed with those of all others.
    """
    generator = np.random.default_rng(seed)
    for _ in range(count):
        sizes = generator.integers(1, 6, generator.integers(1, most + 1))
        while sizes.prod() > MOST_STATES:
            sizes[sizes.argmax()] -= 1
        n, k = len(sizes), int(sizes.max())
        pairs = np.stack(np.triu_indices(n, 1), axis=1)
        pairs = pairs[generator.random(len(pairs)) < generator.choice([0.3, 1.0])]
        pairs = np.where(generator.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])
        draw = LABEL_DRAWS[generator.integers(len(LABEL_DRAWS))]
        unary = _forbidding(draw((LABEL_BATCH, n, k), generator), generator)
        kind = generator.integers(4)
        if kind == 0 or not len(pairs):
            weights = draw((LABEL_BATCH, len(pairs)), generator)
            yield LabelProblem.from_arrays(unary, potts=weights, edges=pairs, sizes=sizes)
            continue
        shape = (k, k) if kind == 1 else (LABEL_BATCH, len(pairs), k, k)
        pairwise = _forbidding(draw(shape, generator), generator)
        if kind == 2:  # factors of the same pair, both ways, are added up
            factors = [
                (pair, pairwise[turn, e, : sizes[pair[0]], : sizes[pair[1]]])
                for e, (i, j) in enumerate(pairs.tolist())
                for turn, pair in enumerate(((i, j), (j, i)))
            ]
            summed = from_factors(sizes.tolist(), factors).problem
            pairwise, pairs = summed.all_pairwise()[0], summed.edges
        yield LabelProblem.from_arrays(unary, pairwise, edges=pairs, sizes=sizes)


def _forbidding(scores: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    forbidden = generator.random(scores.shape) < generator.choice([0.0, 0.0, 0.2])
    if scores.ndim == 3:
        forbidden[..., 0] = False
    else:
        forbidden[..., 0, 0] = False
    return np.where(forbidden, -np.inf, scores)


LABEL_DRAWS = (
    lambda shape, generator: generator.integers(-2, 3, shape) * 1.0,
    lambda shape, generator: generator.integers(-9, 10, shape) / 3.0,
    lambda shape, generator: generator.integers(-20, 21, shape) * 0.1,
    lambda shape, generator: generator.normal(size=shape) * 10.0 ** generator.integers(-250, 251),
    lambda shape, generator: (
        generator.normal(size=shape) * np.exp(generator.normal(0.0, 20.0, shape))
    ),
    lambda shape, generator: generator.normal(size=shape).astype(np.float32) * np.float32(1e-30),
)
"""Ties, thirds, decimals, huge and small scales, scales far apart, and float32."""


@lru_cache(maxsize=2)
def enumerated_labels(count: int, most: int, seed: int) -> Exact:
    """A chunk of labels with its maxima."""
    return [(problem, exact_label_maxima(problem)) for problem in drawn_labels(count, most, seed)]


@lru_cache(maxsize=2)
def enumerated(count: int, most: int, seed: int) -> Exact:
    """A chunk with its maxima."""
    problems = [batch.problem() for batch in drawn(count, most, seed)]
    return [(problem, exact_maxima(problem)) for problem in problems]


def false_claims(
    solver: ArgmaxSolver | LabelSolver, batches: Exact
) -> tuple[Counter[str], list[str]]:
    """Counts of `instances`, of those called `optimal` and of `false` claims, and a line for each of these."""
    counts: Counter[str] = Counter(instances=0, optimal=0, false=0)
    lines = []
    for number, (problem, maxima) in enumerate(batches):
        if solver.why_not(problem):
            continue
        can = solver.capabilities
        limited = can.time_limit and can.exact and isinstance(solver, ArgmaxSolver)
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
    if re.search(only, SparsePortfolio.name):
        yield SparsePortfolio()


def checked_labels(only: str) -> Iterator[LabelSolver]:
    """The installed backends of labels of such names, and the portfolio."""
    for info in available_solvers("labels"):
        if info.installed and re.search(only, info.name):
            yield solver_class(info.name, "labels")()
    if re.search(only, MessagesFirst.name):
        yield MessagesFirst()


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
    parser.add_argument(
        "--labels", action="store_true", help="backends of labels, in batches of 30"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first chunk")
    parser.add_argument("--output", type=Path, help="JSON lines, read and appended to")
    options = parser.parse_args(arguments)
    at_once, most = (LABEL_BATCH, LABEL_VARIABLES) if options.labels else (3, options.variables)
    maxima = enumerated_labels if options.labels else enumerated
    count, chunk = -(-options.count // at_once), CHUNK * 3 // at_once
    chunks = [
        (min(chunk, count - at), most, options.seed + k)
        for k, at in enumerate(range(0, count, chunk))
    ]
    known = {
        (row["backend"], row["count"], row["variables"], row["seed"]): row
        for row in known_rows(options.output)
    }
    false = 0
    print(f"{'backend':18}{'instances':>10}{'optimal':>10}{'false claims':>14}", flush=True)
    for solver in (checked_labels if options.labels else checked)(options.only):
        total: Counter[str] = Counter()
        for size, most, seed in tqdm(chunks, desc=solver.name, mininterval=BETWEEN):
            row = known.get((solver.name, size, most, seed))
            if row is None:
                counts, lines = false_claims(solver, maxima(size, most, seed))
                for line in lines:
                    print(
                        f"{solver.name}, seed {seed} of {size} batches up to {most} variables, {line}",
                        flush=True,
                    )
                row = {
                    "backend": solver.name,
                    "count": size,
                    "variables": most,
                    "seed": seed,
                    **counts,
                }
                if options.output is not None:
                    with options.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            total.update({key: int(row[key]) for key in ("instances", "optimal", "false")})
        print(
            f"{solver.name:18}{total['instances']:10}{total['optimal']:10}{total['false']:14}",
            flush=True,
        )
        false += total["false"]
    return false


if __name__ == "__main__":
    sys.exit(min(main(), 100))
