"""Convert sums of factors with any scopes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from ...arrays import as_array, to_numpy
from ...conversions.exact import ExactTerms, fraction_of, is_rounded, separated
from ...conversions.objective import FactorSum
from ...conversions.sense import Sense, sign_of
from ...errors import ProblemError, shortened
from ...limits.memory import check_memory
from ...options import is_whole
from ..problem import LabelProblem
from .conversion import LabelConversion

Factor: TypeAlias = tuple[Sequence[int], np.ndarray]
"""The variables of a factor, and its table with one axis for each."""

MOST_VALUES = 1 << 30
"""Maximum number of values of a variable."""

MOST_TUPLES = 4096
"""Maximum number of allowed tuples of a factor of three variables or more."""


def from_factors(
    sizes: Sequence[int],
    factors: Iterable[Factor],
    *,
    sense: Sense = "maximise",
    constant: float = 0.0,
    names: Sequence[Hashable] | None = None,
    values: Sequence[Sequence[Hashable]] | None = None,
) -> LabelConversion:
    """Convert a sum of factors, which are tables over some of the variables.

    Factors of one scope are added up. A factor of three variables or more gets an extra variable,
    whose values are the allowed tuples. A pair forbids all values that differ from the tuple, so
    maxima and sums stay the same. A factor that allows many tuples gets two extra variables, one
    for each half of its scope, with a table between them.

    Args:
        sizes: `[n]`, the number of values of each variable.
        factors: scopes and tables `[sizes of the scope]`. Minus infinity forbids a tuple; plus
            infinity, if the sum is minimised. Numbers may be fractions, decimals and integers of
            any size, as for `from_qubo`.
        sense: whether the sum is minimised or maximised.
        constant: a number that is added to the sum.
        names: the names of the variables; None for 0 to n - 1.
        values: the names of the values of each variable; None for 0 to size - 1.

    Raises:
        ProblemError: a table does not have the shape of its scope, a scope repeats a variable, a
            factor of three variables or more allows more than 4,096 tuples, two variables or values
            have the same name, or `LabelProblem.from_arrays` raises.
        OptionError: `sense` is not a known word.
    """
    sign = sign_of(sense)
    number = constant
    constant = _finite(number)
    total = _Sum(_sizes(sizes))
    terms: list[tuple[tuple[int, ...], np.ndarray]] = []
    fractions: list[list[Fraction] | None] = []
    for scope, table, entries in _pairs(factors):
        terms.append((scope, table))
        fractions.append(entries)
    # The problem is maximised, so the tables of a minimised sum change their sign.
    for place, (scope, table) in enumerate(terms):
        total.add(place, scope, sign * table)
    if not math.isfinite(total.constant):
        raise ProblemError(
            f"the constant terms add up to {total.constant}; every assignment is forbidden"
        )
    if names is None:
        names = range(len(sizes))
    if values is None:
        values = [range(size) for size in sizes]
    _check_words(list(sizes), names, values)
    original = FactorSum(constant, terms, _exact(number, terms, fractions))
    return LabelConversion(
        total.problem(), sign, constant + sign * total.constant, names, values, original=original
    )


def _check_words(sizes: list[int], names: Any, values: Any) -> None:
    """Raise unless each variable and each value has a name, and the names differ."""
    try:
        fit = len(names) == len(sizes) and [len(words) for words in values] == sizes
    except TypeError:
        fit = False
    if not fit:
        raise ProblemError(
            f"names and values must be those of {len(sizes)} variables and of their values"
        )
    if not isinstance(names, range):
        _check_different("variables", names)
    for name, words in zip(names, values, strict=True):
        if not isinstance(words, range):
            _check_different(f"values of {shortened(name)}", words)


def _check_different(what: str, words: Sequence[Hashable]) -> None:
    places: dict[Hashable, int] = {}
    for place, word in enumerate(words):
        try:
            first = places.setdefault(word, place)
        except TypeError as error:  # such as a list
            raise ProblemError(
                f"{shortened(word)} cannot be a name; pass a text or a number"
            ) from error
        if first != place:
            raise ProblemError(
                f"two {what} have the name {shortened(word)}: "
                f"numbers {first} and {place}; rename one of them"
            )


def _exact(
    constant: Any,
    terms: list[tuple[tuple[int, ...], np.ndarray]],
    fractions: list[list[Fraction] | None],
) -> ExactTerms | None:
    """Return all entries as fractions; None if float64 holds all numbers."""
    if not is_rounded(constant) and all(entries is None for entries in fractions):
        return None
    whole: list[Fraction] = []
    for (_, table), entries in zip(terms, fractions, strict=True):
        whole += entries or map(fraction_of, table.ravel().tolist())
    return ExactTerms(fraction_of(constant), whole)


def _finite(constant: Any) -> float:
    try:
        if isinstance(constant, Real | Decimal) and math.isfinite(constant):
            return float(constant)
    except OverflowError:  # a whole number beyond all floats
        pass
    raise ProblemError(f"constant must be a finite number; got {shortened(constant)}")


def _sizes(sizes: Any) -> list[int]:
    try:
        numbers = list(sizes)
    except TypeError:
        numbers = [None]
    if not all(is_whole(size, 1, MOST_VALUES) for size in numbers):
        raise ProblemError(
            f"sizes must be the numbers of values of the variables; got {shortened(sizes)}"
        )
    return [int(size) for size in numbers]


def _pairs(
    factors: Any,
) -> Iterator[tuple[tuple[int, ...], np.ndarray, list[Fraction] | None]]:
    """Yield scopes, float64 tables and exact entries, all checked except for shapes.

    The entries of a table are None if float64 holds all of them.
    """
    try:
        pairs = list(factors)
    except TypeError as error:
        raise ProblemError(
            f"factors must be pairs of a scope and a table; got {shortened(factors)}"
        ) from error
    for number, factor in enumerate(pairs):
        try:
            scope, table = factor
            whole = tuple(scope)
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"factor {number} must be a scope and a table; got {shortened(factor)}"
            ) from error
        if not all(is_whole(variable, 0) for variable in whole):
            raise ProblemError(
                f"the scope of factor {number} must be variables; got {shortened(scope)}"
            )
        table, entries = separated(table)
        array = to_numpy(as_array(table, f"the table of factor {number}"))
        if array.dtype.kind not in "biuf" or np.isnan(array).any():
            raise ProblemError(
                f"the table of factor {number} must be numbers; got {shortened(table)}"
            )
        yield tuple(map(int, whole)), array.astype(np.float64), entries


WHOLE_TUPLES = 64
"""Maximum number of allowed tuples for which a factor gets a single variable.

A larger factor gets two variables, one for the tuples of each half.
"""

MOST_JOINT = 1 << 20
"""Maximum entries of the table between the two halves of a factor."""

SMALL_TABLES = 1 << 20
"""Maximum entries of tables that are always padded to one size, which is fastest."""

WORTH_PADDING = 2
"""Maximum ratio of the entries of padded tables to those of the original tables."""


class _Sum:
    """Sum of factors, by scope."""

    def __init__(self, sizes: list[int]):
        self.given = len(sizes)
        self.sizes = list(sizes)
        self.constant = 0.0
        self._unary: dict[int, np.ndarray] = {}
        self._pairs: dict[tuple[int, int], np.ndarray] = {}

    def add(self, number: int, scope: tuple[int, ...], table: np.ndarray) -> None:
        """Add a factor of scores."""
        if len(set(scope)) < len(scope) or not all(0 <= v < self.given for v in scope):
            raise ProblemError(
                f"the scope of factor {number} is {scope}; "
                f"variables are 0..{self.given - 1}, each once"
            )
        shape = tuple(self.sizes[v] for v in scope)
        if table.shape != shape:
            raise ProblemError(
                f"the table of factor {number} must have the shape {shape}; "
                f"its shape is {table.shape}"
            )
        if len(scope) == 0:
            self.constant += float(table)
        elif len(scope) == 1:
            self._unary[scope[0]] = self._unary.get(scope[0], 0.0) + table
        elif len(scope) == 2:
            self._add_pair(scope, table)
        else:
            self._add_tuples(number, scope, table)

    def _add_pair(self, scope: tuple[int, ...], table: np.ndarray) -> None:
        i, j = sorted(scope)
        if scope[0] != i:
            table = table.T
        self._pairs[i, j] = self._pairs.get((i, j), 0.0) + table

    def _add_tuples(self, number: int, scope: tuple[int, ...], table: np.ndarray) -> None:
        """Add a variable whose values are the allowed tuples of a factor.

        A large factor gets two variables, one for each half of its scope.
        """
        allowed = np.argwhere(table > -np.inf)
        if not 0 < len(allowed) <= MOST_TUPLES:
            raise ProblemError(
                f"factor {number} has {len(scope)} variables and allows {len(allowed)} "
                f"of their tuples; one of three or more variables may allow 1 to {MOST_TUPLES}"
            )
        scores = table[tuple(allowed.T)]
        place = _best_cut(allowed, table.shape)
        if not place:
            stand_in, _ = self._stand_in(scope, allowed)
            self._unary[stand_in] = scores
            return
        first, rows = self._stand_in(scope[:place], allowed[:, :place])
        second, columns = self._stand_in(scope[place:], allowed[:, place:])
        joint = np.full((self.sizes[first], self.sizes[second]), -np.inf)
        joint[rows, columns] = scores
        self._add_pair((first, second), joint)

    def _stand_in(self, scope: tuple[int, ...], tuples: np.ndarray) -> tuple[int, np.ndarray]:
        """Return a variable that represents a scope, and its value `[tuples]` for each tuple.

        Its values are the different tuples.

        A scope of one variable is represented by that variable.
        """
        if len(scope) == 1:
            return scope[0], tuples[:, 0]
        shape = tuple(self.sizes[v] for v in scope)
        different, which = np.unique(_codes(tuples, shape), return_inverse=True)
        stand_in = len(self.sizes)
        self.sizes.append(len(different))
        for v, values in zip(scope, np.unravel_index(different, shape), strict=True):
            agree = values == np.arange(self.sizes[v])[:, None]
            self._pairs[v, stand_in] = np.where(agree, 0.0, -np.inf)
        return stand_in, which

    def problem(self) -> LabelProblem[np.ndarray]:
        """Return the problem of the sum."""
        n = len(self.sizes)
        k = max(self.sizes, default=0)
        check_memory(f"{n} variables of up to {k} values", n * k)
        unary = np.full((n, k), -np.inf)
        for v, size in enumerate(self.sizes):
            unary[v, :size] = self._unary.get(v, 0.0)
        if not self._pairs:
            return LabelProblem.from_arrays(unary, sizes=self.sizes)
        padded = len(self._pairs) * k**2
        real = sum(table.size for table in self._pairs.values())
        if padded > max(WORTH_PADDING * real, SMALL_TABLES):
            ends = np.array(list(self._pairs))
            sizes = np.array(self.sizes)
            return LabelProblem.from_tables(unary, list(self._pairs.values()), ends, sizes)
        check_memory(f"{len(self._pairs)} pairs of up to {k} values", padded)
        pairwise = np.zeros((len(self._pairs), k, k))
        for edge, ((i, j), table) in enumerate(self._pairs.items()):
            pairwise[edge, : self.sizes[i], : self.sizes[j]] = table
        return LabelProblem.from_arrays(unary, pairwise, edges=list(self._pairs), sizes=self.sizes)


def _codes(tuples: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the place `[allowed]` of each tuple in a table of the scope."""
    codes: np.ndarray = np.ravel_multi_index(tuple(tuples.T), shape)
    return codes


def _best_cut(tuples: np.ndarray, shape: tuple[int, ...]) -> int:
    """Return the place that splits a scope into two halves of few tuples; 0 for no split.

    Args:
        tuples: `[allowed, variables]`.
        shape: the shape of the factor's table.
    """
    if len(tuples) <= WHOLE_TUPLES:
        return 0
    best = 0
    least = len(tuples)
    for place in range(1, tuples.shape[1]):
        first = len(np.unique(_codes(tuples[:, :place], shape[:place])))
        second = len(np.unique(_codes(tuples[:, place:], shape[place:])))
        if max(first, second) < least and first * second <= MOST_JOINT:
            best = place
            least = max(first, second)
    return best
