"""Bound the score of states that satisfy constraints, by Lagrange multipliers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...limits.deadline import Deadline
from ...problems.problem import EPSILON, Problem
from ..precision.units import to_units
from .groups import Groups
from .linear_rows import FREE, LinearRows
from .neighbours import Neighbours
from .pair_bound import MOST_VARIABLES, PairAscent

SWEEPS = 3
"""Maximum number of new multipliers for each violated constraint."""


@dataclass(frozen=True, eq=False)
class _Majorant:
    """The sum constant + sum_i field_i z_i, an upper bound on the score of every feasible state.

    Attributes:
        constant: of the sum.
        field: `[n]`.
        multiplier: `[c]`, multipliers of the constraints to begin with; None for zeros.
        rounding: how far rounding may have changed the constant and the field.
    """

    constant: float
    field: np.ndarray
    multiplier: np.ndarray | None = None
    rounding: float = 0.0


def bound_within(
    problem: Problem,
    rows: LinearRows,
    values: np.ndarray,
    deadline: Deadline,
    enough: float = -math.inf,
) -> float:
    """Return an upper bound on the score of each state that satisfies constraints.

    Sums over variables majorise the score. Multipliers of the constraints bound such a sum; any
    multipliers give a valid bound. If the constraints form groups in which at most one variable is
    1, one of the sums comes from multipliers for pairs (`PairAscent`).

    Args:
        problem: a single instance on the host.
        rows: its constraints.
        values: `[n]`, the values of fixed variables, -1 for free ones.
        deadline: time at which the ascent ends.
        enough: the score of a state; a bound this low proves it.
    """
    bound = float(problem.positive_part[0])
    for majorant in _majorants(problem, rows):
        bound = min(bound, _Dual(majorant, rows, values).bound(deadline))
    # The ascent over pairs costs much more, so it runs only if the sums prove too little.
    if bound > enough and not deadline.passed:
        grouped = _grouped(problem, rows, values, deadline, enough)
        if grouped is not None:
            bound = min(bound, _Dual(grouped, rows, values).bound(deadline))
    return _whole(problem, bound)


def bound_by(
    problem: Problem, rows: LinearRows, values: np.ndarray, multiplier: np.ndarray
) -> float:
    """Return the upper bound that multipliers `[c]` of the constraints prove for a linear score.

    Args:
        problem: a single instance on the host, without pairs.
        rows: its constraints.
        values: `[n]`, the values of fixed variables, -1 for free ones.
        multiplier: `[c]`, negative for the price of a lower limit.
    """
    majorant = _Majorant(0.0, np.asarray(problem.unary[0], np.float64), multiplier)
    return _whole(problem, _Dual(majorant, rows, values).value())


def _whole(problem: Problem, bound: float) -> float:
    """Return a bound that is no higher, by rounding down to whole units of the scores."""
    units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
    unit = math.ldexp(units.unit, units.exponent)
    if not units.common or unit == 0.0 or not abs(bound) < unit * 2.0**50:
        return bound
    count = math.nextafter(bound / unit, math.inf) + units.error
    return min(bound, units.upper_bound(math.floor(count) + units.error))


def _grouped(
    problem: Problem, rows: LinearRows, values: np.ndarray, deadline: Deadline, enough: float
) -> _Majorant | None:
    """Return the sum that multipliers for pairs in groups prove; None without groups."""
    groups = Groups.of(rows, values)
    # A group that may be empty needs a slack, and so does a variable in no group.
    free = np.flatnonzero(values == FREE)
    slacks = np.count_nonzero(~groups.exact)
    slacks += np.count_nonzero(~groups.member[:, free].any(axis=0))
    if not len(groups) or len(free) + slacks > MOST_VARIABLES:
        # The dense matrices of the ascent limit the size.
        return None
    # Fixed variables that are 1 add their scores to the constant and their pairs to the field.
    ones = (values == 1).astype(np.float64)
    matrix = np.zeros((problem.n, problem.n))
    matrix[tuple(problem.topology.pairs.T)] = problem.pairwise[0]
    matrix += matrix.T
    unary = np.asarray(problem.unary[0], np.float64)
    constant = float(problem.score_flat(ones[None])[0])
    ascent = PairAscent(
        (unary + matrix @ ones)[free],
        matrix[np.ix_(free, free)],
        groups.among(free),
    )
    ascent.run(deadline, enough - constant)
    proved = ascent.bound()
    field = np.zeros(problem.n)
    field[free] = proved.field
    multiplier = np.zeros(len(rows.low))
    multiplier[groups.row] = proved.multiplier
    rounding = float(problem.rounding_of_sums[0])
    return _Majorant(constant + proved.constant, field, multiplier, rounding)


def _majorants(problem: Problem, rows: LinearRows) -> tuple[_Majorant, ...]:
    """Return sums that are at least the score: the score itself without pairs, else two.

    w x y <= w (x + y) / 2 where w > 0. Where w < 0, w x y <= 0 in the first sum, and
    w x y <= -w (1 - x - y) / 2 in the second. In the first sum a variable that is 1 counts only as
    many w > 0 as fit beside it: the largest m - 1 if no state has more than m ones, and the best
    fractional choice for a constraint with positive weights.
    """
    unary = np.asarray(problem.unary[0], np.float64)
    if not problem.pairwise.any():
        return (_Majorant(0.0, unary),)
    near = Neighbours.of(problem)
    # A variable that is 1 has at most this many ones beside it.
    others = max(0, rows.most_ones() - 1)
    positive = near.largest_sums(np.maximum(near.weight, 0.0), others)
    if problem.n <= MOST_VARIABLES:
        positive = np.minimum(positive, _fitting_sums(problem, rows))
    negative = -float(np.minimum(near.weight, 0.0).sum()) / 4  # each pair is in two lists
    # Each pair stands in the lists of both its ends, so each end takes half.
    rounding = float(problem.rounding_of_sums[0])
    few_ones = _Majorant(0.0, unary + positive / 2, rounding=rounding)
    halved = _Majorant(negative, unary + near.sums(near.weight) / 2, rounding=rounding)
    return few_ones, halved


def _fitting_sums(problem: Problem, rows: LinearRows) -> np.ndarray:
    """Return the maximum `[n]` that the positive pairs of each variable add if it is 1.

    A constraint with positive weights leaves its limit, less the weight of the variable, to the
    others. Fractions of variables bound what fits.
    """
    n = problem.n
    gain = np.zeros((n, n))
    gain[tuple(problem.topology.pairs.T)] = np.maximum(problem.pairwise[0], 0.0)
    gain += gain.T
    sums = gain.sum(axis=1)
    ends = np.searchsorted(rows.row, np.arange(len(rows.low) + 1))
    for number, high in enumerate(rows.high.tolist()):
        entries = slice(ends[number], ends[number + 1])
        weight = np.zeros(n)
        weight[rows.column[entries]] = rows.weight[entries]
        # Negative weights make room for others, and a limit above the total excludes nothing.
        if (weight < 0).any() or weight.sum() <= high:
            continue
        room = np.maximum(high - weight, 0.0)
        used = weight > 0
        # Fractional knapsack in the order of gain per weight: an upper bound on what fits.
        order = np.argsort(-gain[:, used] / weight[used], axis=1)
        sizes = weight[used][order]
        ends_of_items = np.cumsum(sizes, axis=1)
        share = np.clip((room[:, None] - (ends_of_items - sizes)) / sizes, 0.0, 1.0)
        fitting = (np.take_along_axis(gain[:, used], order, axis=1) * share).sum(axis=1)
        # Variables without weight use nothing of the limit and count in full.
        sums = np.minimum(sums, fitting + gain[:, ~used].sum(axis=1))
    return np.asarray(sums)


class _Dual:
    """The Lagrangian bound of a sum over variables, as a function of the multipliers."""

    def __init__(self, majorant: _Majorant, rows: LinearRows, values: np.ndarray):
        self._majorant = majorant
        self._rows = rows
        self._values = values
        self._multiplier = np.zeros(len(rows.low))
        self._reduced = majorant.field.copy()
        if majorant.multiplier is not None:
            self._multiplier = majorant.multiplier.copy()
            np.subtract.at(self._reduced, rows.column, self._multiplier[rows.row] * rows.weight)
        self._ends = np.searchsorted(rows.row, np.arange(len(rows.low) + 1))

    def bound(self, deadline: Deadline) -> float:
        """Return the least bound of a few sweeps over the violated constraints."""
        bound = self.value()
        for _ in range(SWEEPS):
            before = bound
            activity = self._rows.activity(self._maximiser())
            violated = (activity > self._rows.high) | (activity < self._rows.low)
            # Coordinate descent: the other multipliers stay, so the bound never rises.
            for number in np.flatnonzero(violated):
                if deadline.passed:
                    break
                self._minimise(int(number))
            bound = min(bound, self.value())
            if deadline.passed or not bound < before:
                break
        return bound

    def _maximiser(self) -> np.ndarray:
        """Return the state `[n]` that maximises the sum at the present multipliers."""
        return np.where(self._values == FREE, self._reduced > 0, self._values)

    def value(self) -> float:
        """Return the bound at the present multipliers, raised by the rounding of its own sums."""
        rows = self._rows
        field = self._majorant.field
        multiplier = self._multiplier
        priced = multiplier[rows.row] * rows.weight
        reduced = field - np.bincount(rows.column, priced, rows.n)
        # A sum of m numbers loses at most m EPSILON times the sum of their magnitudes. Variables
        # that are surely 0 lose nothing.
        terms = np.bincount(rows.column, minlength=rows.n) + 2
        size = np.abs(field) + np.bincount(rows.column, np.abs(priced), rows.n)
        reduced += EPSILON * terms * size
        gains = np.where(self._values == FREE, np.maximum(reduced, 0.0), reduced * self._values)
        # A positive multiplier is the price of the upper limit, a negative one of the lower limit.
        sides = multiplier * np.where(multiplier > 0, rows.high, rows.low)
        sides = np.where(multiplier == 0, 0.0, sides)
        sides += EPSILON * np.abs(sides)
        constants = (self._majorant.constant, self._majorant.rounding)
        return math.nextafter(math.fsum((*constants, *gains, *sides)), math.inf)

    def _minimise(self, number: int) -> None:
        """Set the multiplier of one constraint to where the bound, convex in it, is least.

        The bound is linear between its breakpoints: 0, and the points at which a variable of the
        constraint changes its value.
        """
        entries = slice(self._ends[number], self._ends[number + 1])
        column = self._rows.column[entries]
        weight = self._rows.weight[entries].astype(np.float64)
        low = float(self._rows.low[number])
        high = float(self._rows.high[number])
        # The gains without the present multiplier of this constraint.
        gain = self._reduced[column] + self._multiplier[number] * weight
        values = self._values[column]
        free = values == FREE
        points = np.unique(np.append(gain[free] / weight[free], 0.0))

        def slope(multiplier: float) -> float:
            # The derivative of the bound: the limit less the activity of the maximiser.
            ones = np.where(free, gain - multiplier * weight > 0, values == 1)
            limit = low
            if multiplier > 0:
                limit = high
            return limit - float(weight[ones].sum())

        first = 0
        last = len(points) - 1
        while first < last:  # bisect for the first point after which the bound does not fall
            # Between two breakpoints the derivative is constant, so any point there will do.
            middle = (first + last) // 2
            if slope((points[middle] + points[middle + 1]) / 2) < 0:
                first = middle + 1
            else:
                last = middle
        multiplier = float(points[first])
        if math.isfinite(multiplier):
            self._multiplier[number] = multiplier
            self._reduced[column] = gain - multiplier * weight
