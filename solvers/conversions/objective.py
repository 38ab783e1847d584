"""Objectives as others wrote them, evaluated term by term: sums that keep every digit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..problems.problem import units_of
from .exact import ExactTerms
from .terms import Linear, Pairs, Weights

DIGITS = 53
"""Binary digits of a float64."""

EPSILON = 2.0 ** (1 - DIGITS)
"""From 1 to the next larger float64."""

GROWTH = 8
"""Maximum growth of a term's absolute value when it is folded into coefficients.

A term of the original adds at most this many times itself to the coefficients of a problem.
"""


class Objective(Protocol):
    """The original objective of a conversion, a sum of terms."""

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The terms that the states `z [n]` add up."""

    def solved_terms(self, z: np.ndarray) -> np.ndarray:
        """Return the terms, as `terms` does, of the objective that the problem represents.

        That objective is the original one, or one that bounds it.
        """

    def coefficients(self) -> np.ndarray:
        """All terms that there are."""

    def most_summed(self) -> int:
        """How many terms one coefficient of the problem sums up, at most."""

    @property
    def exact(self) -> ExactTerms | None:
        """The terms as fractions, where float64 rounds one of them; else None."""

    def value(self, z: np.ndarray) -> float:
        """Return the objective of a state, rounded once."""

    @property
    def least(self) -> float:
        """No state has less: minus infinity where that takes a search."""

    @property
    def is_solved_exactly(self) -> bool:
        """Whether `solved_terms` are the terms at all states, so that sums over states agree."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """sum of constants + sum_i linear_i v_i + sum_(i,j) weights_ij v_i v_j.

    Attributes:
        constants: any number of them.
        linear: `[n]`.
        pairs: `[e, 2]`; pairs may repeat, and (i, i) is a pair.
        weights: `[e]`.
        values: what v is where z is 0 and 1.
        exact: the linear terms and the weights as fractions, where float64 rounds one of them.
    """

    constants: tuple[float, ...]
    linear: Linear
    pairs: Pairs
    weights: Weights
    values: tuple[int, int] = (0, 1)
    exact: ExactTerms | None = None

    def value(self, z: np.ndarray) -> float:
        """Return the objective of a state, rounded once."""
        if self.exact is None:
            return total(self.terms(z))
        v = [self.values[state] for state in z.tolist()]
        return self.exact.value([*v, *(v[i] * v[j] for i, j in self.pairs.tolist())])

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The constants, and a term for each variable and pair."""
        v = np.asarray(self.values, np.float64)[z]
        first, second = self.pairs.T
        products = self.weights * v[first] * v[second]
        return np.concatenate([np.asarray(self.constants, np.float64), self.linear * v, products])

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """The linear terms and the weights; the constants do not come into the problem."""
        return np.concatenate([self.linear, self.weights])

    def most_summed(self) -> int:
        """The most weights of one pair, and of spins of one variable."""
        n = len(self.linear)
        if self.values != (0, 1):
            return 1 + _most(self.pairs.ravel())
        low, high = np.sort(self.pairs, axis=1).T
        diagonal = np.flatnonzero(self.linear)
        return _most(
            np.unique(
                np.concatenate([low * n + high, diagonal * n + diagonal]), return_inverse=True
            )[1]
        )


@dataclass(frozen=True, eq=False)
class Cut:
    """The weight of the pairs whose ends differ.

    Attributes:
        pairs: `[e, 2]`.
        weights: `[e]`.
        exact: the weights as fractions, where float64 rounds one of them.
    """

    pairs: Pairs
    weights: Weights
    exact: ExactTerms | None = None

    def value(self, z: np.ndarray) -> float:
        """Return the weight of the cut, rounded once."""
        if self.exact is None:
            return total(self.terms(z))
        return self.exact.value(self._cut(z).tolist())

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The weights of the pairs that are cut."""
        crossing: np.ndarray = self.weights[self._cut(z)]
        return crossing

    def _cut(self, z: np.ndarray) -> np.ndarray:
        cut: np.ndarray = z[self.pairs[:, 0]] != z[self.pairs[:, 1]]
        return cut

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """The weights."""
        return self.weights

    def most_summed(self) -> int:
        """The most pairs of one variable."""
        return _most(self.pairs.ravel())


@dataclass(frozen=True, eq=False)
class Capacity:
    """The capacity of the arcs from ones to zeros.

    Attributes:
        arcs: `[e, 2]`.
        capacities: `[e]`, which may be infinite.
        capped: `[e]`, finite, as the problem has them; at most the capacities.
        exact: the finite capacities as fractions, where float64 rounds one of them.
    """

    arcs: Pairs
    capacities: Weights
    capped: Weights
    exact: ExactTerms | None = None

    def value(self, z: np.ndarray) -> float:
        """Return the capacity of the cut, rounded once."""
        rounded = total(self.terms(z))
        if self.exact is None or math.isinf(rounded):
            return rounded
        return self.exact.value(self._cut(z).tolist())

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The capacities of the arcs that are cut."""
        cut: np.ndarray = self.capacities[self._cut(z)]
        return cut

    least = 0.0

    @property
    def is_solved_exactly(self) -> bool:
        """Whether no capacity was capped."""
        return bool((self.capped == self.capacities).all())

    def solved_terms(self, z: np.ndarray) -> np.ndarray:
        """The capped capacities of the arcs that are cut."""
        cut: np.ndarray = self.capped[self._cut(z)]
        return cut

    def coefficients(self) -> np.ndarray:
        """The capped capacities."""
        return self.capped

    def most_summed(self) -> int:
        """The most arcs of one node."""
        return _most(self.arcs.ravel())

    def _cut(self, z: np.ndarray) -> np.ndarray:
        cut: np.ndarray = z[self.arcs[:, 0]] > z[self.arcs[:, 1]]
        return cut


@dataclass(frozen=True, eq=False)
class FactorSum:
    """A constant, and a table over some of the variables for each factor.

    Attributes:
        constant: added to the tables.
        factors: scopes and tables, an axis for each variable of a scope.
        exact: the finite entries of all tables as fractions, one table after the other and 0 for
            an infinite one, where float64 rounds one of them.
    """

    constant: float
    factors: Sequence[tuple[Sequence[int], np.ndarray]]
    exact: ExactTerms | None = None

    def value(self, z: np.ndarray) -> float:
        """Return the sum of the entries, rounded once."""
        rounded = total(self.terms(z))
        if self.exact is None or not math.isfinite(rounded):
            return rounded
        factors = np.zeros(len(self.exact.terms), np.int64)
        first = 0
        for scope, table in self.factors:
            factors[first + _place(z, scope, table.shape)] += 1
            first += table.size
        return self.exact.value(factors.tolist())

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The constant, and an entry of each table."""
        values = z.tolist()
        entries = (float(table[tuple(values[v] for v in scope)]) for scope, table in self.factors)
        return np.fromiter((self.constant, *entries), np.float64)

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """The finite entries of all tables."""
        entries = [np.ravel(table) for scope, table in self.factors if len(scope)]
        whole = np.concatenate([np.empty(0), *entries])
        finite: np.ndarray = whole[np.isfinite(whole)]
        return finite

    def most_summed(self) -> int:
        """Four entries for each factor of one variable."""
        scopes = [np.asarray(scope, np.int64) for scope, _ in self.factors if len(scope)]
        return 4 * _most(np.concatenate([np.empty(0, np.int64), *scopes]))


def total(terms: Iterable[float]) -> float:
    """The sum of terms, rounded once.

    Example:
        >>> total([1e15, 0.1, -1e15])
        0.1
    """
    if isinstance(terms, np.ndarray):
        listed = terms.tolist()
    else:
        listed = list(terms)
    try:
        return math.fsum(listed)
    except (OverflowError, ValueError):  # beyond all floats, or infinities of both signs
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(listed))


def beyond(value: float, margin: float) -> float:
    """The float64 at value + margin, or the next one beyond it where that lies between two."""
    limit = value + margin
    if not math.isfinite(limit) or math.fsum((value, margin, -limit)) == 0:
        return limit
    return math.nextafter(limit, math.copysign(math.inf, margin))


def sums_are_exact(terms: np.ndarray) -> bool:
    """Whether float64 sums of these terms, and of up to eight times each, are exact in any order.

    They are if all are whole multiples of one power of two, and their sum has no more than 53
    digits of it.

    Example:
        >>> import numpy as np
        >>> sums_are_exact(np.array([0.5, 3.0])), sums_are_exact(np.array([0.1, 3.0]))
        (True, False)
    """
    size = np.abs(terms[terms != 0])
    if not size.size:
        return True
    fraction, exponent = np.frexp(size)
    digits = np.ldexp(fraction, DIGITS).astype(np.int64)
    lowest = exponent - DIGITS + np.frexp((digits & -digits).astype(np.float64))[1] - 1
    with np.errstate(over="ignore"):
        total = GROWTH * size.sum()
    return bool(np.isfinite(total) and np.frexp(total)[1] - lowest.min() <= DIGITS)


def folding_error(objective: Objective) -> float:
    """Bound the error that rounded coefficients cause in the difference of two scores.

    The exact value is the difference of the original objective.
    """
    terms = objective.coefficients()
    summed = objective.most_summed()
    rounded_off = 0.0
    if objective.exact is not None:
        rounded_off = objective.exact.rounded_off
    if summed <= 1 or sums_are_exact(terms):
        return rounded_off
    with np.errstate(over="ignore"):
        magnitude = float(np.abs(terms).sum())
    return rounded_off + EPSILON * summed * GROWTH * magnitude


def folding_hides_units(objective: Objective) -> bool:
    """Return whether `folding_error` may exceed the unit of terms of few digits, such as integers.

    Then a state that is better by a unit may have the lower score. Exact terms know their unit, and
    real numbers have none.
    """
    error = folding_error(objective)
    if error == 0 or objective.exact is not None:
        return False
    terms = objective.coefficients()[np.newaxis]
    with np.errstate(over="ignore"):
        magnitude = np.abs(terms).sum(axis=1)
    units = units_of(terms, np.empty((1, 0)), magnitude, error / float(magnitude[0]))
    return units is not None and bool(units[0] == -math.inf)


def _place(z: np.ndarray, scope: Sequence[int], shape: tuple[int, ...]) -> int:
    """Return the place of the entry of a state in a flattened table."""
    if not len(scope):
        return 0
    return int(np.ravel_multi_index(tuple(z[list(scope)].tolist()), shape))


def _most(places: np.ndarray) -> int:
    """How often the most frequent number comes."""
    if places.size:
        return int(np.bincount(places).max())
    return 0
