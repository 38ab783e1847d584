"""Conversions of whole numbers of all sizes, whose optima are found in exact arithmetic.

Terms of one pair or variable are summed when they are converted. Where float64 rounds such a sum,
whole units are lost, and no answer may be certified that another one beats by a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from solvers import solve
from solvers.conversions import Answer, from_ising, from_max_cut, from_polynomial, from_qubo
from solvers.labels import from_factors

from .draws import Draw
from .outcomes import claim

N: Final = 4
"""Variables of a problem."""

LARGE: Final = (1e6, 1e12, 1e14, 1e15, 4e15, 1e16, 4e16, 1e18, 1e25)

PENALTIES: Final = (1e6, 1e12, 1e13, 1e14, 3e14, 1e15, 2e15)
"""Penalties that leave scores below 2^55, most of them whole."""

SOLVERS: Final = (
    "auto",
    "exhaustive",
    "elimination",
    "branch_and_bound",
    "dual_ascent",
    "mini_buckets",
    "cycle_cuts",
    "cp_sat",
    "highs",
)

Value: TypeAlias = Callable[[tuple[int, ...]], Fraction]


def _weights(draw: Draw, count: int) -> list[float]:
    """Return small whole numbers, some of which are replaced by a large one of either sign."""
    weights = draw.random.integers(-60, 61, count).astype(np.float64)
    large = draw.of(LARGE)
    replaced = draw.random.random(count) < draw.of((0.1, 0.3))
    weights[replaced] = large * draw.random.choice([-1, 1], int(replaced.sum()))
    listed: list[float] = weights.tolist()
    return listed


def _sum_of_products(terms: list[tuple[tuple[int, ...], float]]) -> Value:
    """Return the exact value of a sum of products of variables."""

    def value(state: tuple[int, ...]) -> Fraction:
        return Fraction(sum(Fraction(w) * prod(state[i] for i in scope) for scope, w in terms))

    return value


def _check(answer: Answer, value: Value, states: Iterator[tuple[int, ...]], sign: int) -> None:
    """Compare an answer with the exact values of all states; `sign` is -1 for a minimum."""
    best = max(sign * value(state) for state in states)
    state = tuple(answer.assignment[place] for place in range(N))
    reached = sign * value(state)
    claim(answer.value == float(sign * reached), "a value is not that of its state")
    claim(
        not answer.optimal or reached == best,
        f"a state of {float(reached)} is certified, and {float(best - reached)} less than the best",
    )
    allowance = Fraction(1, 10**9) * abs(best)
    claim(
        sign * Fraction(answer.bound) >= best - allowance,
        f"a bound is {answer.bound}, and the best value {float(sign * best)}",
    )


def _from_qubo(draw: Draw, folder: Path) -> Callable[[], None]:
    keys = [pair for pair in product(range(N), repeat=2) if draw.chance(0.8)] or [(0, 1)]
    keys += [(i, i) for i in range(N)]
    terms = dict(zip(keys, _weights(draw, len(keys)), strict=True))
    sense, sign = draw.of((("minimize", -1), ("maximize", 1)))
    value = _sum_of_products(list(terms.items()))

    def call() -> None:
        answer = solve(from_qubo(terms, sense=sense))
        _check(answer, value, product((0, 1), repeat=N), sign)

    return call


def _from_ising(draw: Draw, folder: Path) -> Callable[[], None]:
    pairs = list(combinations(range(N), 2))
    fields = dict(enumerate(_weights(draw, N)))
    couplings = dict(zip(pairs, _weights(draw, len(pairs)), strict=True))
    value = _sum_of_products([*(((i,), w) for i, w in fields.items()), *couplings.items()])

    def call() -> None:
        answer = solve(from_ising(fields, couplings))
        _check(answer, value, product((-1, 1), repeat=N), -1)

    return call


def _from_polynomial(draw: Draw, folder: Path) -> Callable[[], None]:
    scopes: list[tuple[int, ...]] = [(i,) for i in range(N)]
    scopes += [scope for size in (2, 3) for scope in combinations(range(N), size)]
    terms = dict(zip(scopes, _weights(draw, len(scopes)), strict=True))
    value = _sum_of_products(list(terms.items()))

    def call() -> None:
        answer = solve(from_polynomial(terms))
        _check(answer, value, product((0, 1), repeat=N), -1)

    return call


def _from_max_cut(draw: Draw, folder: Path) -> Callable[[], None]:
    pairs = list(combinations(range(N), 2))
    edges = pairs + [draw.of(pairs) for _ in range(draw.whole(0, 60))]
    weights = _weights(draw, len(edges))

    def value(state: tuple[int, ...]) -> Fraction:
        cut = (
            Fraction(w) for (i, j), w in zip(edges, weights, strict=True) if state[i] != state[j]
        )
        return Fraction(sum(cut))

    def call() -> None:
        answer = solve(from_max_cut(N, edges, weights))
        _check(answer, value, product((0, 1), repeat=N), 1)

    return call


def _from_factors(draw: Draw, folder: Path) -> Callable[[], None]:
    sizes = [draw.whole(2, 3) for _ in range(N)]
    pairs = list(combinations(range(N), 2))
    scopes: list[tuple[int, ...]] = [(i,) for i in range(N)]
    scopes += [draw.of(pairs) for _ in range(draw.whole(2, 10))]
    factors: list[tuple[tuple[int, ...], Any]] = []
    for scope in scopes:
        shape = tuple(sizes[i] for i in scope)
        factors.append((scope, np.reshape(_weights(draw, prod(shape)), shape)))

    def value(state: tuple[int, ...]) -> Fraction:
        entries = (table[tuple(state[i] for i in scope)] for scope, table in factors)
        return Fraction(sum(Fraction(float(entry)) for entry in entries))

    def call() -> None:
        answer = solve(from_factors(sizes, factors, sense="maximize"))
        _check(answer, value, product(*map(range, sizes)), 1)

    return call


def _count_penalty(draw: Draw, folder: Path) -> Callable[[], None]:
    """Whole scores less a penalty on the number of ones, which is multiplied out."""
    n = draw.whole(4, 9)
    count = draw.whole(1, n - 1)
    penalty = draw.of(PENALTIES)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    small = draw.random.integers(-20, 21, n + len(edges)).astype(np.float64)
    unary = small[:n] - penalty * (1 - 2 * count)
    pairwise = small[n:] - 2 * penalty
    solver = draw.of(SOLVERS)
    terms = [((i,), score) for i, score in enumerate(unary.tolist())]
    terms += [(tuple(pair), score) for pair, score in zip(edges, pairwise.tolist(), strict=True)]
    value = _sum_of_products(terms)

    def call() -> None:
        solution = solve(unary, pairwise, edges=edges, solver=solver)
        best = max(value(state) for state in product((0, 1), repeat=n))
        reached = value(tuple(solution.z.tolist()))
        claim(
            not solution.optimal or reached == best,
            f"{solver} certifies a state that is {float(best - reached)} less than the best",
        )
        claim(Fraction(solution.bound) >= best, f"the bound of {solver} is below the best score")

    return call


WHOLE_CALLS: Final = {
    "whole numbers of all sizes: a penalty multiplied out": (3, _count_penalty),
    "whole numbers of all sizes: from_qubo": (2, _from_qubo),
    "whole numbers of all sizes: from_ising": (2, _from_ising),
    "whole numbers of all sizes: from_polynomial": (2, _from_polynomial),
    "whole numbers of all sizes: from_max_cut": (3, _from_max_cut),
    "whole numbers of all sizes: from_factors": (3, _from_factors),
}
"""Weight and maker of each, by the name that the report gives it."""
