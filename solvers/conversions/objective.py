"""Original objectives, evaluated term by term so that sums keep every digit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..problems.any_problem import units_of
from .exact import ExactTerms
from .terms import Linear, Pairs, Weights

DIGITS = 53
"""Binary digits of a float64."""

EPSILON = 2.0 ** (1 - DIGITS)
"""Distance from 1 to the next larger float64."""

GROWTH = 8
"""Maximum growth of a term's absolute value when it is folded into coefficients.

A term of the original adds at most this many times itself to the coefficients of a problem.
"""


class Objective(Protocol):
    """Original objective of a conversion, as a sum of terms."""

    def terms(self, z: np.ndarray) -> np.ndarray:
        """Return the terms that add up at the states `z [n]`."""

    def solved_terms(self, z: np.ndarray) -> np.ndarray:
        """Return the terms, as `terms` does, of the objective that the problem represents.

        That objective is the original one, or one that bounds it.
        """

    def coefficients(self) -> np.ndarray:
        """Return the coefficients that can contribute to the problem's scores."""

    def most_summed(self) -> int:
        """Return the maximum number of terms that add up to one coefficient of the problem."""

    @property
    def exact(self) -> ExactTerms | None:
        """The terms as fractions if float64 rounds one of them; else None."""

    def value(self, z: np.ndarray) -> float:
        """Return the objective of a state, rounded once."""

    @property
    def least(self) -> float:
        """Lower bound on the objective of all states; minus infinity if only a search finds one."""

    @property
    def is_solved_exactly(self) -> bool:
        """Whether `solved_terms` equal `terms` at all states, so that sums over states agree."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Objective sum of constants + sum_i linear_i v_i + sum_(i,j) weights_ij v_i v_j.

    Attributes:
        constants: any number of constants.
        linear: `[n]`.
        pairs: `[e, 2]`; pairs may repeat, and (i, i) is a pair.
        weights: `[e]`.
        values: the values of v for z = 0 and z = 1.
        exact: the linear terms and the weights as fractions, if float64 rounds one of them.
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
        """Return the constants, and a term for each variable and pair."""
        v = np.asarray(self.values, np.float64)[z]
        first, second = self.pairs.T
        products = self.weights * v[first] * v[second]
        return np.concatenate([np.asarray(self.constants, np.float64), self.linear * v, products])

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """Return the linear terms and the weights; the constants are not part of the problem."""
        return np.concatenate([self.linear, self.weights])

    def most_summed(self) -> int:
        """Return the maximum number of weights that share a pair, or a variable if v are spins."""
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
    """Weight of the pairs whose ends differ.

    Attributes:
        pairs: `[e, 2]`.
        weights: `[e]`.
        exact: the weights as fractions, if float64 rounds one of them.
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
        """Return the weights of the cut pairs."""
        crossing: np.ndarray = self.weights[self._cut(z)]
        return crossing

    def _cut(self, z: np.ndarray) -> np.ndarray:
        cut: np.ndarray = z[self.pairs[:, 0]] != z[self.pairs[:, 1]]
        return cut

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """Return the weights."""
        return self.weights

    def most_summed(self) -> int:
        """Return the maximum number of pairs of one variable."""
        return _most(self.pairs.ravel())


@dataclass(frozen=True, eq=False)
class Capacity:
    """Capacity of the arcs from ones to zeros.

    Attributes:
        arcs: `[e, 2]`.
        capacities: `[e]`, which may be infinite.
        capped: `[e]`, the finite capacities in the problem, none above the original.
        exact: the finite capacities as fractions, if float64 rounds one of them.
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
        """Return the capacities of the cut arcs."""
        cut: np.ndarray = self.capacities[self._cut(z)]
        return cut

    least = 0.0

    @property
    def is_solved_exactly(self) -> bool:
        """Whether no capacity was capped."""
        return bool((self.capped == self.capacities).all())

    def solved_terms(self, z: np.ndarray) -> np.ndarray:
        """Return the capped capacities of the cut arcs."""
        cut: np.ndarray = self.capped[self._cut(z)]
        return cut

    def coefficients(self) -> np.ndarray:
        """Return the capped capacities."""
        return self.capped

    def most_summed(self) -> int:
        """Return the maximum number of arcs of one node."""
        return _most(self.arcs.ravel())

    def _cut(self, z: np.ndarray) -> np.ndarray:
        cut: np.ndarray = z[self.arcs[:, 0]] > z[self.arcs[:, 1]]
        return cut


@dataclass(frozen=True, eq=False)
class FactorSum:
    """Sum of a constant and factors, which are tables over some of the variables.

    Attributes:
        constant: a number that is added to the tables.
        factors: scopes and tables with one axis for each variable of the scope.
        exact: the finite entries of all tables as fractions, if float64 rounds one of them. They
            come one table after the other, with 0 for an infinite entry.
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
        """Return the constant, and an entry of each table."""
        values = z.tolist()
        entries = (float(table[tuple(values[v] for v in scope)]) for scope, table in self.factors)
        return np.fromiter((self.constant, *entries), np.float64)

    solved_terms = terms
    least = -math.inf
    is_solved_exactly = True

    def coefficients(self) -> np.ndarray:
        """Return the finite entries of all tables."""
        entries = [np.ravel(table) for scope, table in self.factors if len(scope)]
        whole = np.concatenate([np.empty(0), *entries])
        finite: np.ndarray = whole[np.isfinite(whole)]
        return finite

    def most_summed(self) -> int:
        """Return four times the maximum number of factors of one variable."""
        scopes = [np.asarray(scope, np.int64) for scope, _ in self.factors if len(scope)]
        return 4 * _most(np.concatenate([np.empty(0, np.int64), *scopes]))


def total(terms: Iterable[float]) -> float:
    """Return the sum of terms, rounded once.

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
    """Return value + margin as a float64, rounded away from `value`."""
    limit = value + margin
    if not math.isfinite(limit) or math.fsum((value, margin, -limit)) == 0:
        return limit
    return math.nextafter(limit, math.copysign(math.inf, margin))


def sums_are_exact(terms: np.ndarray) -> bool:
    """Return whether float64 sums of these terms, each up to eight times, are exact in any order.

    They are exact if all terms are whole multiples of one power of two, and their sum has at most
    53 binary digits in this unit.

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

    Then a state that is better by a unit may have a lower score. The unit of exact terms is known,
    and real numbers have none.
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
    """Return how often the most frequent number occurs."""
    if places.size:
        return int(np.bincount(places).max())
    return 0
