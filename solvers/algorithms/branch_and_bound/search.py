"""One dense instance by branch and bound, from rounding to certificate.

The coefficients are rounded to whole numbers of a unit that sum to less than 2^53, so the scores of partial
and full assignments are exact in float64. What is proved of the rounded problem holds for the given one
within the sum of the roundings.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Edges
from ...deadline import Deadline
from ..local_search.tabu import tabu_search
from ..precision.units import EPSILON, Units, to_units
from .nodes import new_levels, new_slots
from .tree import Incumbent, new_scratch, search, start_search

WORK_A_CALL = 100 * 100**3
"""Nodes times n^3; 10 ms, about: how finely the time limit is kept."""

NANOSECONDS = 20
"""Of n^3, about, for the first relaxation."""


def search_dense(
    unary: np.ndarray, pairwise: np.ndarray, edges: Edges, deadline: Deadline
) -> tuple[np.ndarray, float, int]:
    """The best state found `[n]`, an upper bound on the maximum, and how many nodes were handled.

    Args:
        unary: `[n]`, finite, n >= 1.
        pairwise: `[e]`, finite.
        edges: `[e, 2]`.
        deadline: when to end.
    """
    n = len(unary)
    units = to_units(np.concatenate((unary, pairwise), dtype=np.float64))
    if not units.values.any():
        return np.zeros(n, np.int8), units.upper_bound(units.error), 0
    h, weights = units.values[:n], units.values[n:]
    matrix = np.zeros((n, n))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = weights
    z = tabu_search(h[None], weights[None], edges, deadline=deadline, threads=1, once=True)[0]
    score = float(h @ z + z @ matrix @ z / 2)  # exact: whole numbers below 2^53
    if n > 1 and not (2 * h + matrix.sum(axis=0)).any():
        n -= 1  # flipping all bits changes nothing: the last one may stay at 0
        z[:] ^= z[n]
        h, matrix = h[:n], np.ascontiguousarray(matrix[:n, :n])
    incumbent = Incumbent(np.full(1, score), z[:n], _margin(units), np.full(1, -np.inf))
    levels, slots, scratch = new_levels(n), new_slots(n), new_scratch(n)
    with deadline.flag(1e-9 * NANOSECONDS * n**3) as stop:
        start_search(h, matrix, levels, slots, scratch, stop)
    top, nodes = search(0, 1, levels, slots, incumbent, scratch)  # the bound is worth what was spent on it
    at_once = max(1, WORK_A_CALL // n**3)
    while top >= 0 and not deadline.passed:
        top, count = search(top, at_once, levels, slots, incumbent, scratch)
        nodes += count
    return z, _bound(units, incumbent, slots.bound[: top + 1]), nodes


def _margin(units: Units) -> float:
    """By how much a node must be able to better the best score, in units, not to be pruned.

    A better score is better by a unit. Where the unit is the finest that float64 holds, bounds round by more
    than that: there the search may stop at what the roundings leave of the tolerance.
    """
    if units.common:
        return 1.0 - 2.0**-20
    tolerance = EPSILON * len(units.values) * math.fsum(np.abs(units.values))
    return max(0.0, 0.99 * tolerance - 2.0 * units.error)


def _bound(units: Units, incumbent: Incumbent, open_bounds: np.ndarray) -> float:
    """An upper bound in the given scale: pruned nodes are within the margin, open ones within their bounds."""
    bound = float(incumbent.score[0])
    if not units.common:
        bound = max(bound, float(incumbent.ceiling[0]))
    if len(open_bounds):
        bound = min(max(bound, float(open_bounds.max())), math.fsum(np.maximum(units.values, 0.0)))
    if units.error:
        bound = math.nextafter(bound + units.error, math.inf)
    return units.upper_bound(bound)
