"""Read and evaluate the terms of polynomials of bits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from ...errors import ProblemError, shortened
from ..couplings import check_terms, ordered_labels
from ..exact import ExactTerms, floats, fraction_of, is_rounded
from ..objective import total
from ..terms import Weights, real_array

Scope: TypeAlias = tuple[int, ...]
"""Places of the variables of a term, in rising order."""

MOST_SPINS = 16
"""Maximum degree of a term of spins, which has up to 2^16 terms of bits."""


@dataclass(frozen=True, eq=False)
class Monomials:
    """Terms of a polynomial of bits.

    Attributes:
        constant: the term without variables.
        terms: {places: number} of all other terms.
    """

    constant: float
    terms: Mapping[Scope, float]

    @property
    def high(self) -> dict[Scope, float]:
        """The terms of three variables or more."""
        return {scope: a for scope, a in self.terms.items() if len(scope) > 2 and a}

    @property
    def low(self) -> dict[Scope, float]:
        """The terms of one or two variables."""
        return {scope: a for scope, a in self.terms.items() if len(scope) <= 2}


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Polynomial sum_t numbers_t prod_(i in scopes_t) v_i, as the caller wrote it.

    Attributes:
        constant: the term without variables.
        scopes: the places of each term.
        numbers: `[terms]`.
        values: the values of v for z = 0 and z = 1.
        folded: the contributions that add up to the coefficients of the problem.
        summed: maximum number of contributions to one coefficient.
        is_solved_exactly: whether sums over all states of the problem are those of the original.
        exact: the numbers as fractions, if float64 rounds one of them.
    """

    constant: float
    scopes: tuple[Scope, ...]
    numbers: Weights
    values: tuple[int, int]
    folded: Weights
    summed: int
    is_solved_exactly: bool
    exact: ExactTerms | None = None

    least = -math.inf

    def value(self, z: np.ndarray) -> float:
        """Return the objective of a state, rounded once."""
        if self.exact is None:
            return total(self.terms(z))
        return self.exact.value(self._products(z))

    def terms(self, z: np.ndarray) -> np.ndarray:
        """Return the constant, and the terms of a state."""
        products = np.array(self._products(z), np.float64)
        return np.concatenate([[self.constant], self.numbers * products])

    solved_terms = terms

    def coefficients(self) -> np.ndarray:
        """Return the contributions to the coefficients of the problem."""
        return self.folded

    def most_summed(self) -> int:
        """Return the maximum number of contributions to one coefficient."""
        return self.summed

    def _products(self, z: np.ndarray) -> list[int]:
        v = [self.values[state] for state in z.tolist()]
        return [math.prod(v[place] for place in scope) for scope in self.scopes]


@dataclass(frozen=True, eq=False)
class Read:
    """Checked polynomial.

    Attributes:
        labels: the labels of its variables.
        constant: the number at the key `()`, plus the offset.
        terms: {places: number}, in the caller's variables, with each place once.
        exact: all numbers as fractions, the terms in their order; None if float64 holds them.
        values: the values of the variables for z = 0 and z = 1.
    """

    labels: tuple[Hashable, ...]
    constant: float
    terms: Mapping[Scope, float]
    exact: ExactTerms | None
    values: tuple[int, int]

    def monomials(self) -> Monomials:
        """Return the terms over bits; a product of spins s = 2 z - 1 is multiplied out.

        Raises:
            ProblemError: a term of spins has too many variables.
        """
        if self.values == (0, 1):
            return Monomials(self.constant, self.terms)
        parts: dict[Scope, list[float]] = {(): [self.constant]}
        for scope, number in self.terms.items():
            if len(scope) > MOST_SPINS:
                raise ProblemError(
                    f"a term has {len(scope)} spins, and one of spins may have {MOST_SPINS}"
                )
            for chosen, factor in _expanded(scope):
                parts.setdefault(chosen, []).append(factor * number)
        sums = {scope: total(numbers) for scope, numbers in parts.items()}
        constant = sums.pop(())
        return Monomials(constant, {scope: number for scope, number in sums.items() if number})


def _expanded(scope: Scope) -> Iterator[tuple[Scope, int]]:
    """Yield the terms of prod (2 z_i - 1) over a scope."""
    for size in range(len(scope) + 1):
        factor = 2**size * (-1) ** (len(scope) - size)
        for chosen in combinations(scope, size):
            yield chosen, factor


def read(terms: Any, offset: Any, values: tuple[int, int]) -> Read:
    """Check the terms of a polynomial.

    Args:
        terms: {names: number}, where names are a tuple of any length.
        offset: a number that is added to the constant.
        values: the two values of the variables.

    Raises:
        ProblemError: `terms` is not such a dict, or a number is not finite.
    """
    _check_keys(terms)
    labels = tuple(ordered_labels(label for key in terms for label in key))
    place = {label: number for number, label in enumerate(labels)}
    numbers = real_array("the terms", list(floats(terms).values()), 1)
    check_terms((tuple(key) or ("the constant",) for key in terms), numbers)
    added = real_array("the offset", list(floats({0: offset}).values()), 1)
    if not np.isfinite(added).all():
        raise ProblemError(f"the offset must be a finite number; got {shortened(offset)}")
    products = [(_scope([place[label] for label in key], values), terms[key]) for key in terms]
    sums = _exact_sums([((), offset), *products])
    floating = {scope: float(number) for scope, number in sums.items()}
    constant = floating.pop(())
    return Read(labels, constant, floating, _exact_terms(sums), values)


def _check_keys(terms: Any) -> None:
    """Raise if `terms` is not a dict whose keys are tuples of names."""
    if not isinstance(terms, Mapping):
        raise ProblemError(
            f"a polynomial is a dict {{(name, name, ...): number}}; got {shortened(terms)}"
        )
    for key in terms:
        if not isinstance(key, tuple | frozenset):
            raise ProblemError(
                f"the keys of a polynomial are tuples of names; got {shortened(key)}. Write "
                f"({shortened(key)},) for a linear term"
            )


def _exact_sums(products: Iterable[tuple[Scope, Any]]) -> dict[Scope, Fraction]:
    """Return the sum of the numbers of each scope; only these sums are rounded to float64."""
    summands: dict[Scope, list[Any]] = {}
    for scope, number in products:
        summands.setdefault(scope, []).append(number)
    return {scope: Fraction(sum(map(fraction_of, summed))) for scope, summed in summands.items()}


def _exact_terms(sums: Mapping[Scope, Fraction]) -> ExactTerms | None:
    """Return the sums as fractions; None if float64 holds all of them."""
    if not any(map(is_rounded, sums.values())):
        return None
    return ExactTerms(sums[()], [number for scope, number in sums.items() if scope])


def _scope(places: list[int], values: tuple[int, int]) -> Scope:
    """Return the variables of a product, with z^2 = z for bits and s^2 = 1 for spins."""
    if values == (0, 1):
        return tuple(sorted(set(places)))
    return tuple(sorted(place for place in set(places) if places.count(place) % 2))
