"""Read weighted MaxSAT problems in the WCNF formats of the MaxSAT evaluations, and CNF."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ...constraints import Constraint, linear
from ...conversions.conversion import Conversion, converted
from ..parsing.text import TextFile, shown

CLAUSE_BYTES = 2
"""Least number of bytes of a clause, "0" and its end."""


def read_wcnf(text: TextFile) -> Conversion:
    """Read a problem that minimises the weight of the soft clauses that are not satisfied.

    Hard clauses become constraints. A soft clause of three literals or more becomes a constraint,
    too, with an added variable "clause k", which is 1 if the clause may be violated.

    Both formats are read. With a header "p wcnf variables clauses top", clauses of weight `top` are
    hard. Without a header, hard clauses begin with h. All clauses after "p cnf" have the weight 1.

    Raises:
        ProblemFileError: the file has another form, or an empty hard clause.

    References:
        MaxSAT Evaluation 2022, rules: the input format.
    """
    rows = text.rows()
    clauses = _Clauses(text)
    header = _Header()
    for row in rows:
        if row[0] == b"p":
            if clauses.count or header.claims:
                raise text.error("a header must be the first line, and there may be only one")
            header = _header(text, row)
            continue
        clauses.add(row, header)
    clauses.check(header)
    return clauses.conversion(header)


@dataclass(frozen=True)
class _Header:
    """Header of a file; its fields are None or empty without a header.

    Attributes:
        claims: the numbers of variables and of clauses.
        weighted: whether every clause has a weight.
        top: clauses of this weight or more are hard.
    """

    claims: tuple[int, int] | None = None
    weighted: bool = True
    top: int | float = math.inf

    @property
    def variables(self) -> int:
        """The number of variables that the header claims."""
        if self.claims:
            return self.claims[0]
        return 0


def _header(text: TextFile, row: list[bytes]) -> _Header:
    kind = b""
    if len(row) > 1:
        kind = row[1]
    if (kind, len(row)) not in ((b"cnf", 4), (b"wcnf", 4), (b"wcnf", 5)):
        raise text.error("expected 'p wcnf variables clauses top' or 'p cnf variables clauses'")
    n = text.integer(row[2], "the number of variables", 0, 2**62)
    count = text.integer(row[3], "the number of clauses", 0, 2**62)
    text.check_claim(n, count, CLAUSE_BYTES)
    top: int | float = math.inf
    if len(row) == 5:
        top = text.exact_number(row[4], "the weight of hard clauses")
    return _Header((n, count), kind == b"wcnf", top)


@dataclass
class _Clauses:
    """The clauses so far, as terms of a quadratic sum and as constraints."""

    text: TextFile
    count: int = 0
    largest: int = 0
    constant: float = 0.0
    places: array[int] = field(default_factory=lambda: array("q"))
    numbers: array[float] = field(default_factory=lambda: array("d"))
    pairs: array[int] = field(default_factory=lambda: array("q"))
    weights: array[float] = field(default_factory=lambda: array("d"))
    hard: list[tuple[int, set[int]]] = field(default_factory=list)
    soft: list[tuple[int, float, set[int]]] = field(default_factory=list)

    def add(self, row: list[bytes], header: _Header) -> None:
        """Add the clause of a line.

        Raises:
            ProblemFileError: the line is not a clause.
        """
        self.count += 1
        words = iter(row)
        weight = self._weight(words, header)
        literals = self._literals(words, header)
        if any(-literal in literals for literal in literals):
            return  # it is always satisfied
        if weight >= header.top:
            if not literals:
                raise self.text.error("a hard clause is empty, so no assignment satisfies it")
            self.hard.append((self.count, literals))
            return
        rounded = float(weight)
        if rounded != weight:
            raise self.text.error(
                f"the weight of a clause is {weight}, which float64 rounds; divide all weights by "
                "a common factor"
            )
        if len(literals) > 2:
            self.soft.append((self.count, rounded, literals))
        else:
            self._add_terms(rounded, sorted(literals))

    def _weight(self, words: Iterator[bytes], header: _Header) -> int | float:
        if not header.weighted:
            return 1.0
        word = next(words)
        if word == b"h" and header.claims is None:
            return math.inf
        weight = self.text.exact_number(word, "the weight of a clause")
        if weight < 0:
            raise self.text.error(f"the weight of a clause is {shown(word)}; it must be >= 0")
        return weight

    def _literals(self, words: Iterator[bytes], header: _Header) -> set[int]:
        if header.claims:
            most = header.variables
        else:
            most = 2**62
        literals: set[int] = set()
        for word in words:
            literal = self.text.integer(word, "a literal", -most, most)
            if literal == 0:
                if next(words, None) is not None:
                    raise self.text.error("a clause ends with 0, and more words follow in its line")
                return literals
            self.largest = max(self.largest, abs(literal))
            literals.add(literal)
        self.text.check_claim(self.largest, 0, CLAUSE_BYTES)
        raise self.text.error("a clause must end with 0 in its line")

    def _add_terms(self, weight: float, literals: list[int]) -> None:
        """Add weight * product of (1 - literal); a positive literal is z, a negative one 1 - z."""
        # 1 - literal is start + sign * z.
        starts = [int(literal > 0) for literal in literals]
        signs = [1 - 2 * start for start in starts]
        variables = [abs(literal) - 1 for literal in literals]
        self.constant += weight * math.prod(starts)
        for place, variable in enumerate(variables):
            others = math.prod(start for other, start in enumerate(starts) if other != place)
            self.places.append(variable)
            self.numbers.append(weight * signs[place] * others)
        if len(literals) == 2:
            self.pairs.extend(variables)
            self.weights.append(weight * signs[0] * signs[1])

    def check(self, header: _Header) -> None:
        """Raise if the header claims another number of clauses, or there is no variable."""
        if header.claims and header.claims[1] != self.count:
            raise self.text.error(
                f"the header claims {header.claims[1]} clauses, and the file has {self.count}"
            )
        if not max(self.largest, header.variables):
            raise self.text.error("the file has no variables")
        self.text.check_claim(self.largest + len(self.soft), 0, CLAUSE_BYTES)

    def conversion(self, header: _Header) -> Conversion:
        """Return the problem of all clauses."""
        n = max(self.largest, header.variables)
        names = [*range(1, n + 1), *(f"clause {number}" for number, *_ in self.soft)]
        coefficients = np.zeros(len(names))
        np.add.at(coefficients, np.asarray(self.places, np.int64), np.asarray(self.numbers))
        coefficients[n:] = [weight for _, weight, _ in self.soft]
        pairs = np.asarray(self.pairs, np.int64).reshape(-1, 2)
        weights = np.asarray(self.weights, np.float64)
        conversion = converted("minimise", names, coefficients, pairs, weights, self.constant)
        constraints = [_satisfied(number, literals, {}) for number, literals in self.hard]
        for place, (number, _, literals) in enumerate(self.soft, n):
            constraints.append(_satisfied(number, literals, {place: 1.0}))
        return replace(conversion, constraints=tuple(constraints))


def _satisfied(number: int, literals: set[int], free: dict[int, float]) -> Constraint:
    """Require that a literal of a clause holds, or a variable of `free` is 1."""
    signs = {abs(literal) - 1: math.copysign(1.0, literal) for literal in sorted(literals)}
    negative = sum(literal < 0 for literal in literals)
    return replace(linear({**signs, **free}, ">=", 1 - negative), name=f"clause {number}")
