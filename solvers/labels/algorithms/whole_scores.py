"""Scores of an instance as whole numbers, so that bounds on them are exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...algorithms.precision.integers import LEAST_EXPONENT, to_integers
from ..problem import LabelProblem

if TYPE_CHECKING:
    from jaxtyping import Int

TOTAL_BITS = 54

NORMAL = 2.0**-1000
"""Least unit for which floats of whole numbers of units keep all digits."""

FORBIDDEN = -(1 << 61)
"""Whole score in place of minus infinity, which no sum of other scores compensates."""


CACHED = 1 << 15
"""Number of scores that are rounded at once, so that the steps find them in the cache."""


class Tables(NamedTuple):
    """Scores of pairs: shared tables, or weights of equal values.

    Attributes:
        pairs: `[e, 2]`, the variables of each edge.
        table_of: `[e]`, the table of each edge.
        tables: `[t, k, k]`; empty if there are `weights`.
        weights: `[e]`, the scores of equal values, if different values score 0; otherwise empty.
    """

    pairs: np.ndarray
    table_of: np.ndarray
    tables: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class WholeScores:
    """Scores of one instance in whole numbers of a unit, a power of two.

    With unit = 2^(ceil(log2(magnitude)) - 54), all scores are below about 2^54. Rounding changes a
    score by at most (n + e) / 2 units < `LabelProblem.rounding` / 8. So a proof over these numbers
    is a proof at float64.

    Attributes:
        unary: `[n, k]`, with `FORBIDDEN` for minus infinity.
        tables: the pairs.
        sizes: `[n]`.
        unit: the unit: a score is about unit * whole score.
        error: maximum change of a sum by rounding of the scores.
        step: a number of which every difference of two sums is a multiple.
        least: a lower bound on the scores of allowed assignments.
    """

    unary: Int[np.ndarray, "n k"]
    tables: Tables
    sizes: Int[np.ndarray, "n"]
    unit: float
    error: float
    step: int
    least: int

    @classmethod
    def of(cls, problem: LabelProblem) -> WholeScores:
        """Return the whole scores of a host problem of one instance."""
        # In this unit the scores of a state sum to less than 2^TOTAL_BITS.
        exponent = max(int(np.frexp(problem.magnitude[0])[1]) - TOTAL_BITS, LEAST_EXPONENT)
        unary, moved, steps = _rounded(problem.unary[0], exponent)
        error = moved.sum()
        tables, weights, table_of = _pairs_of(problem)
        whole, moved, more = _rounded(tables, exponent)
        heavy, moved_weights, most = _rounded(weights, exponent)
        if len(tables):
            error += moved[table_of].sum()
        else:
            error += moved_weights.sum()
        unit = float(np.ldexp(1.0, exponent))
        step = 1
        # Exact scores are multiples of `step`, so bounds may be rounded down to one.
        if error == 0.0:
            step = int(np.gcd.reduce([steps, more, most]))
        least = _least(unary).sum() + np.minimum(heavy, 0).sum()
        if len(tables):
            least += _least(whole)[table_of].sum()
        parts = Tables(problem.topology.pairs, table_of, whole, heavy)
        return cls(unary, parts, problem.sizes, unit, error * unit, max(step, 1), int(least))

    def bound(self, whole: int) -> float:
        """Convert a bound on whole scores to a bound on true scores.

        The result is rounded up if no float equals it.
        """
        bound = whole * self.unit
        if int(float(whole)) != whole or self.unit < NORMAL:
            bound = np.nextafter(bound, np.inf)
        if self.error:
            bound = np.nextafter(bound + self.error, np.inf)
        return float(bound)


def _pairs_of(problem: LabelProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tables or weights of equal values, and the table of each edge."""
    none = np.zeros((0, problem.k, problem.k)), np.zeros(0)
    if not problem.e:
        return *none, problem.table_of
    if problem.is_potts and problem.weights is not None:
        return none[0], np.asarray(problem.weights[0], np.float64), problem.table_of
    problem = problem.dense()
    tables = np.asarray(problem.tables[0], np.float64)
    if problem.k > 1:
        equal = tables[:, 0, 0]
    else:
        equal = np.zeros(len(tables))
    diagonal = np.where(np.eye(problem.k, dtype=bool), equal[:, None, None], 0.0)
    # A table with an equal diagonal and zeros elsewhere is replaced by a weight, which is faster.
    if np.isfinite(equal).all() and (tables == diagonal).all():
        weights = equal[problem.table_of]
        if problem.weights is not None:
            weights = weights * problem.weights[0]
        return none[0], weights, problem.table_of
    if problem.weights is None:
        return tables, none[1], problem.table_of
    return problem.all_pairwise()[0], none[1], np.arange(problem.e)


def _rounded(scores: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Round scores to whole numbers.

    Returns:
        The whole numbers, the maximum rounding in each row, and their greatest common divisor.
    """
    if not scores.size:
        return np.zeros(scores.shape, np.int64), np.zeros(len(scores)), 0
    rows = np.asarray(scores, np.float64).reshape(len(scores), -1)
    whole = np.empty(rows.shape, np.int64)
    moved = np.empty(len(rows))
    step = 0
    at_once = max(1, CACHED // rows.shape[1])
    for first in range(0, len(rows), at_once):
        part = slice(first, first + at_once)
        whole[part], moved[part] = _rounded_rows(rows[part], exponent)
        # Every whole number is a multiple of 1.
        if step != 1:
            step = int(np.gcd(step, np.gcd.reduce(whole[part], axis=None)))
        whole[part][np.isinf(rows[part])] = FORBIDDEN
    return whole.reshape(scores.shape), moved, step


def _rounded_rows(rows: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest whole numbers, 0 for minus infinity, and the most that each row moved."""
    finite = np.where(np.isinf(rows), 0.0, rows)
    whole, total = to_integers(finite, np.full(len(rows), exponent))
    if not total.any():
        return whole, total
    return whole, np.abs(np.ldexp(finite, -exponent) - whole).max(axis=1)


def _least(whole: np.ndarray) -> np.ndarray:
    """Return the least allowed score of each row, or 0."""
    rows = whole.reshape(len(whole), -1)
    least: np.ndarray = np.where(rows > FORBIDDEN, rows, 0).min(axis=1, initial=0)
    return least
