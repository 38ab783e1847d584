"""Depth-first search whose bounds are looked up in the tables of mini-buckets; all scores are int64.

Assigning the variables in the reverse of the elimination order, the bound of a partial assignment is that of its
parent less what the mini-buckets of the new variable lose by its state: their maxima over the variable were the
messages that counted so far. Where no bucket is split nothing is ever lost and the first descent is optimal.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint
from .plan import Layout

NANOSECONDS = 10
"""Of an entry of the tables, about."""

UNFILLED = np.iinfo(np.int64).max


class Search:
    """A search that can be stopped and resumed.

    Attributes:
        z: `[n]` int8, the best assignment so far.
        bound: on every integer score; that of z where `finished`.
        finished: whether z is a maximiser of the integer scores.
    """

    def __init__(
        self, layout: Layout, scores: FixedPoint, z: np.ndarray, deadline: Deadline, bound: int | None = None
    ):
        """Fills the tables; where the deadline cuts that short, there is no more to search.

        Args:
            layout: mini-buckets of the problem.
            scores: the problem, a single instance.
            z: `[n]`, an assignment to start from.
            deadline: when to end.
            bound: known already.
        """
        n = len(z)
        self._layout = layout
        self._table = np.empty(layout.tables[-1], np.int64)
        self._bounds, self._later, self._tried = (
            np.empty(n + 1, np.int64),
            np.empty(n, np.int64),
            np.zeros(n, np.int8),
        )
        with deadline.flag(1e-9 * NANOSECONDS * len(self._table)) as stop:
            self._bounds[0] = fill_tables(layout, scores.unary[0], scores.pairwise[0], self._table, stop)
        self._cut_short = self._bounds[0] == UNFILLED
        self._scores, self._best, self.z = scores, scores.score(z[None]), z.astype(np.int8)
        self._state, self._depth = self.z.copy(), 0
        self.bound = int(self._bounds[0]) if bound is None else min(bound, int(self._bounds[0]))

    @property
    def cut_short(self) -> bool:
        """Whether the tables are not filled, so that nothing can be searched."""
        return bool(self._cut_short)

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return self._depth < 0

    def _known(self) -> Known:
        bound = int(self._best[0]) if self.finished else self.bound
        return Known(self.z[None], self._scores.bound(np.array([bound])))

    def run(self, nodes: int | None, deadline: Deadline, nodes_a_call: int) -> None:
        """Goes on for so many nodes, or until the deadline."""
        if self.cut_short:
            return
        handled = 0
        while not self.finished and not deadline.passed and (nodes is None or handled < nodes):
            self._depth = search(
                *(self._layout, self._table, self._state, self._bounds, self._later, self._tried),
                *(self._depth, self._best, self.z, nodes_a_call),
            )
            handled += nodes_a_call
            deadline.tell(self._known)
        if self.finished:
            self.bound = int(self._best[0])


@jit.strict
def fill_tables(layout, unary, pairwise, table, stop):
    """Fills the tables `[entries]` in the order of elimination; returns the bound on every score.

    Or UNFILLED, once `stop [1]` is set.
    """
    bound = np.int64(0)
    for step in range(len(layout.order)):
        first, last = layout.minis[step], layout.minis[step + 1]
        for mini in range(first, last):
            if stop[0]:
                return UNFILLED
            _fill(layout, pairwise, table, mini)
        start, end = layout.tables[first], layout.tables[first + 1]
        table[(start + end) // 2 : end] += unary[layout.order[step]]
        if last - first > 1:
            _match(layout, table, first, last)
        for mini in range(first, last):
            if layout.scopes[mini] == layout.scopes[mini + 1]:
                bound += max(table[layout.tables[mini]], table[layout.tables[mini] + 1])
    return bound


@jit.strict_inner
def _fill(layout, pairwise, table, mini):
    entries = table[layout.tables[mini] : layout.tables[mini + 1]]
    entries[:] = 0
    half = len(entries) // 2
    for term in range(layout.terms[mini], layout.terms[mini + 1]):
        bit, weight = np.int64(1) << layout.term_bits[term], pairwise[layout.term_edges[term]]
        for base in range(half + bit, 2 * half, 2 * bit):
            entries[base : base + bit] += weight
    for read in range(layout.reads[mini], layout.reads[mini + 1]):
        places = layout.places[layout.place_starts[read] : layout.place_starts[read + 1]]
        source = layout.sources[read]
        message = table[layout.tables[source] : layout.tables[source + 1]]
        top = len(message) // 2
        low_bits, low = _low_projections(len(entries), places)
        for high in range(len(entries) >> low_bits):
            base = _projected(high << low_bits, places)
            for index in range(len(low)):
                j = base + low[index]
                entries[(high << low_bits) + index] += max(message[j], message[top + j])


@jit.strict_inner
def _projected(index, places):
    """The bits of `index` at `places`, moved together."""
    found = np.int64(0)
    for k in range(len(places)):
        found |= ((index >> places[k]) & 1) << k
    return found


@jit.strict_inner
def _match(layout, table, first, last):
    """Shifts scores of the variables that all mini-buckets of a bucket have, until their maxima agree.

    The shifts of a state of these variables add up to zero, so the sum of the mini-buckets stays; the sum of their
    maxima falls.
    """
    count = last - first
    size = 1 << (layout.shared_starts[first + 1] - layout.shared_starts[first])
    peaks = np.empty((count, size), np.int64)
    for k in range(count):
        _peaks(layout, table, first + k, peaks[k])
    for state in range(size):
        total = peaks[:, state].sum()
        mean = total // count
        for k in range(count):
            peaks[k, state] = mean - peaks[k, state]
        peaks[0, state] += total - mean * count
    for k in range(count):
        _shift(layout, table, first + k, peaks[k])


@jit.strict_inner
def _peaks(layout, table, mini, peaks):
    """Writes the maximum for every state of the shared variables."""
    entries = table[layout.tables[mini] : layout.tables[mini + 1]]
    places = layout.shared[layout.shared_starts[mini] : layout.shared_starts[mini + 1]]
    low_bits, low = _low_projections(len(entries), places)
    peaks[:] = np.iinfo(np.int64).min
    for high in range(len(entries) >> low_bits):
        base = _projected(high << low_bits, places)
        for index in range(len(low)):
            j = base + low[index]
            peaks[j] = max(peaks[j], entries[(high << low_bits) + index])


@jit.strict_inner
def _shift(layout, table, mini, shifts):
    entries = table[layout.tables[mini] : layout.tables[mini + 1]]
    places = layout.shared[layout.shared_starts[mini] : layout.shared_starts[mini + 1]]
    low_bits, low = _low_projections(len(entries), places)
    for high in range(len(entries) >> low_bits):
        base = _projected(high << low_bits, places)
        for index in range(len(low)):
            entries[(high << low_bits) + index] += shifts[base + low[index]]


@jit.strict_inner
def _low_projections(size, places):
    """About half of the bits of an index below `size`, and what every state of them projects to."""
    low_bits = 0
    while size >> (2 * low_bits):
        low_bits += 1
    low_bits -= 1
    low = np.empty(1 << low_bits, np.int64)
    for index in range(len(low)):
        low[index] = _projected(index, places)
    return low_bits, low


@jit.strict
def search(layout, table, state, bound, later, tried, depth, best, best_state, nodes):
    """Handles up to `nodes` nodes from where the last call stopped.

    Args:
        layout: of the mini-buckets.
        table: as `fill_tables` left it.
        state: `[n]`, of the variables assigned.
        bound: `[n + 1]`, by depth, of the assignment of the variables so far.
        later: `[n]`, by depth, the bound of the other state of its variable.
        tried: `[n]`, by depth, how many states were tried.
        depth: where to go on; 0 with `bound[0]` set and `tried` zero at the start.
        best: `[1]`, score of the best assignment, updated with it.
        best_state: `[n]`.
        nodes: at least 1.

    Returns:
        The depth at which to go on, -1 when all is searched.
    """
    n = len(state)
    while depth >= 0 and nodes > 0:
        if depth == n:
            if bound[n] > best[0]:
                best[0] = bound[n]
                best_state[:] = state
            depth -= 1
            continue
        v = layout.order[n - 1 - depth]
        if tried[depth] == 0:
            nodes -= 1
            zero, one = _losses(layout, table, state, n - 1 - depth)
            state[v] = one < zero
            bound[depth + 1] = bound[depth] - min(zero, one)
            later[depth] = bound[depth] - max(zero, one)
        elif tried[depth] == 1:
            state[v] = 1 - state[v]
            bound[depth + 1] = later[depth]
        tried[depth] += 1
        if tried[depth] <= 2 and bound[depth + 1] > best[0]:
            depth += 1
            if depth < n:
                tried[depth] = 0
        else:  # the states come best first: the other is no better
            depth -= 1
    return depth


@jit.strict_inner
def _losses(layout, table, state, step):
    """By how much either state of the variable of a step falls short of what was counted for its bucket."""
    zero = one = np.int64(0)
    for mini in range(layout.minis[step], layout.minis[step + 1]):
        index = np.int64(0)
        begin = layout.scopes[mini]
        for k in range(begin, layout.scopes[mini + 1]):
            index |= np.int64(state[layout.variables[k]]) << (k - begin)
        start, end = layout.tables[mini], layout.tables[mini + 1]
        off, on = table[start + index], table[(start + end) // 2 + index]
        zero += max(off, on) - off
        one += max(off, on) - on
    return zero, one
