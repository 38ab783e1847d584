"""Problems that are written to files and read again, and polynomials in exact numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import solve
from solvers.conversions import from_polynomial, from_qubo
from solvers.formats import WRITABLE, read_problem, write_problem
from solvers.labels import formats as label_formats
from solvers.labels import from_factors

from .draws import Draw
from .outcomes import OURS, claim

NAMES: Final = (
    *("x", "x y", "", "é", '"q"', "a\nb", "1", "1.0", "-1", "inf", "nan", "end", "free", "#c"),
    *(1, 2.5, (0, 1), None, "'", ">=", "a" * 300, "\t", b"c", "\\"),
)
NUMBERS: Final[tuple[Callable[[Draw], float], ...]] = (
    lambda draw: float(draw.whole(-4, 4)),
    lambda draw: float(draw.random.standard_normal()),
    lambda draw: float(draw.random.standard_normal() * 10.0 ** draw.whole(-300, 290)),
    lambda draw: draw.of((5e-324, -5e-324, 1e-310, -0.0, 1.0)),
    lambda draw: draw.of((2.0**53, 2.0**53 + 2, -(2.0**60), 1e22, 1e23, 123456789.123456789)),
    lambda draw: draw.of((0.1, 1 / 3, 1e-7, -1e-5, 1e5)),
)
"""Of every size."""


def _qubo(draw: Draw) -> tuple[Any, float]:
    """Return a conversion of bits, and the sum of its absolute numbers."""
    n = draw.whole(0, 4)
    number = draw.of(NUMBERS)
    names: list[Hashable] = [f"x{i}" for i in range(n)]
    if draw.chance(0.4):
        names = [NAMES[place] for place in draw.random.permutation(len(NAMES))[:n]]
    terms = {(name, name): number(draw) for name in names}
    for pair in itertools.combinations(names, 2):
        if draw.chance(0.6):
            terms[pair] = number(draw)
    constant = number(draw) if draw.chance(0.5) else 0.0
    size = abs(constant) + sum(map(abs, terms.values()))
    return from_qubo(terms, constant, draw.of(("minimise", "maximise"))), size


def _factors(draw: Draw) -> tuple[Any, float]:
    """Return a conversion of labels, and the sum of its largest absolute numbers."""
    sizes = [draw.whole(1, 3) for _ in range(draw.whole(1, 4))]
    number = draw.of(NUMBERS)
    sense = draw.of(("minimise", "maximise"))
    forbidden = math.inf if sense == "minimise" else -math.inf
    factors = []
    total = 0.0
    for _ in range(draw.whole(0, 4)):
        scope = draw.random.permutation(len(sizes))[: draw.whole(1, 3)].tolist()
        shape = [sizes[v] for v in scope]
        table = np.array([number(draw) for _ in range(math.prod(shape))]).reshape(shape)
        total += float(np.abs(table).max())
        if draw.chance(0.4):
            table = np.where(draw.random.random(shape) < 0.2, forbidden, table)
        factors.append((scope, table))
    return from_factors(sizes, factors, sense=sense), total


def _written(draw: Draw, folder: Path) -> Callable[[], None]:
    of_bits = draw.chance(0.6)
    make = _qubo if of_bits else _factors
    to = draw.of((*WRITABLE, *label_formats.WRITABLE) if of_bits else label_formats.WRITABLE)
    path = folder / f"file.{to}"
    path.write_text("kept", encoding="utf-8")

    def call() -> None:
        conversion, size = make(draw)
        write: Any = write_problem
        read: Any = read_problem
        if to in label_formats.WRITABLE:
            write = label_formats.write_problem
            read = label_formats.read_problem
        try:
            relation = write(conversion, path, to)
        except OURS:
            claim(path.read_text(encoding="utf-8") == "kept", "a refused file replaced another")
            raise
        _check_same(conversion, read(path), relation, _tolerance(to, size))

    return call


def _tolerance(to: str, size: float) -> float:
    """Return the error that a format may have; `uai` has exponentials, near 1 for tiny scores."""
    if to == "uai":
        return 1e-8 * size + 1e-14
    return 1e-11 * size


def _check_same(conversion: Any, other: Any, relation: Any, slack: float) -> None:
    """Raise a `FalseClaim` unless both objectives are related as the relation says."""
    sizes = [len(conversion.values_of(place)) for place in range(len(conversion.names))]
    for state in itertools.product(*map(range, sizes)):
        value = conversion.objective(state)
        more = [0] * (len(other.names) - len(state))  # the vertex that stands for zero
        again = relation.value(other.objective([*state, *more]))
        same = again == value or abs(again - value) <= slack + 1e-300
        claim(same, f"a file has another objective: {again} instead of {value}")


def _polynomial(draw: Draw, folder: Path) -> Callable[[], None]:
    names = ("a", 1, (0, 1), None)[: draw.whole(1, 4)]
    terms = {}
    for _ in range(draw.whole(0, 6)):
        scope = tuple(draw.of(names) for _ in range(draw.whole(0, 5)))
        terms[scope] = draw.of(
            (
                Fraction(draw.whole(-9, 9), draw.whole(1, 7)),
                draw.whole(-4, 4) * 10 ** draw.of((0, 3, 18, 200)),
                draw.of(NUMBERS[:2])(draw),
            )
        )
    sense = draw.of(("minimise", "maximise"))
    variables = draw.of(("bits", "spins"))
    reduction: Any = draw.of(("auto", "cliques", "substitution", "labels"))

    def call() -> None:
        answer: Any = solve(
            from_polynomial(terms, 0, sense, variables=variables, reduction=reduction)
        )
        used = list(answer.assignment)
        values = {
            state: _value(terms, dict(zip(used, state, strict=True)))
            for state in itertools.product(
                (0, 1) if variables == "bits" else (-1, 1), repeat=len(used)
            )
        }
        best = max(values.values()) if sense == "maximise" else min(values.values())
        taken = values[tuple(answer.assignment.values())]
        slack = sum(abs(Fraction(number)) for number in terms.values()) / 2**44
        claim(abs(Fraction(answer.value) - taken) <= slack, f"a value is wrong: {answer.value}")
        claim(
            not answer.optimal or abs(taken - best) <= slack,
            f"a state is falsely optimal: {float(taken)} instead of {float(best)}",
        )

    return call


def _value(terms: dict[Any, Any], assignment: dict[Hashable, int]) -> Fraction:
    return sum(
        (
            Fraction(number) * math.prod(assignment[name] for name in scope)
            for scope, number in terms.items()
        ),
        Fraction(0),
    )


WRITTEN_CALLS: Final = {
    "write_problem": (8, _written),
    "from_polynomial": (5, _polynomial),
}
"""Weight and maker of each, by the name that the report gives it."""
