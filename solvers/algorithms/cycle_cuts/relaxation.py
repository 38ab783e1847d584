"""Solve the linear relaxation over odd cycles with HiGHS, resuming from the last basis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...limits.deadline import Deadline
from ..simplex import simplex_of
from .certificate import Certificate, Cycles

SLICE = 0.2
"""Seconds of one run of the simplex, between two checks of the deadline and interrupts."""

IDLE = 3
"""Solves in a row after which an inequality without multiplier is dropped, unless tight."""

USED = 1e-9
"""Least multiplier, relative to the largest weight, that counts as positive."""

SLACK = 1e-6
"""Least slack of an inequality that counts as not tight."""


class Relaxation:
    """The linear program max w x over 0 <= x <= 1 and a changing set of odd-cycle inequalities.

    Attributes:
        cycles: the inequalities.
        multipliers: `[k]`, their multipliers at the last optimum.
        x: `[m]`, the last optimum.
        unit: the largest magnitude of a weight.
        iterations: number of iterations of the simplex.
    """

    def __init__(self, weights: np.ndarray):
        """Build the linear program without inequalities.

        Args:
            weights: `[m]`, whole.
        """
        self._module, self._highs, self.unit = simplex_of(weights)
        self._weights = weights
        m = len(weights)
        self._idle = np.empty(0, np.int64)
        self._low = np.zeros(m, np.int8)
        self._high = np.ones(m, np.int8)
        self.cycles = Cycles.none()
        # Without inequalities every edge of positive weight is cut.
        self.x = (weights > 0).astype(np.float64)
        self.multipliers = np.empty(0)
        self.iterations = 0

    def add(self, cycles: Cycles) -> None:
        """Add inequalities."""
        k = len(cycles)
        self._highs.addRows(
            k,
            # The inequalities only have an upper limit.
            np.full(k, -np.inf),
            cycles.right_sides.astype(np.float64),
            len(cycles.edges),
            cycles.starts[:-1].astype(np.int32),
            cycles.edges.astype(np.int32),
            cycles.signs.astype(np.float64),
        )
        self.cycles = self.cycles.joined(cycles)
        self._idle = np.concatenate((self._idle, np.zeros(k, np.int64)))

    def fix(self, low: np.ndarray, high: np.ndarray) -> None:
        """Set the bounds `[m]` of the edges: 0 and 1, or equal values where an edge is fixed."""
        # Unchanged bounds are not set again, so that the simplex method resumes near its optimum.
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if len(changed):
            self._highs.changeColsBounds(
                len(changed),
                changed,
                low[changed].astype(np.float64),
                high[changed].astype(np.float64),
            )
        self._low = low.copy()
        self._high = high.copy()

    def solve(self, deadline: Deadline, between: Callable[[], None] = lambda: None) -> bool:
        """Resume until an optimum; return False after the deadline or a failure of the simplex.

        Args:
            deadline: when to end.
            between: called before each run of the simplex.
        """
        if not self._run(deadline, between):
            return False
        self.iterations += self._highs.getInfo().simplex_iteration_count
        solution = self._highs.getSolution()
        self.x = np.clip(np.array(solution.col_value), 0.0, 1.0)
        # HiGHS minimises in units of the largest weight, hence sign and scale of the duals.
        self.multipliers = -np.array(solution.row_dual) * self.unit
        self._idle = np.where(self.multipliers > USED * self.unit, 0, self._idle + 1)
        return True

    def _run(self, deadline: Deadline, between: Callable[[], None]) -> bool:
        status = None
        codes = self._module.HighsModelStatus
        while status in (None, codes.kTimeLimit):
            between()
            if deadline.passed:
                return False
            # The clock of HiGHS runs over all calls. Short slices let callbacks and interrupts in.
            until = self._highs.getRunTime() + min(SLICE, deadline.left)
            self._highs.setOptionValue("time_limit", until)
            self._highs.run()
            status = self._highs.getModelStatus()
        return bool(status == codes.kOptimal)

    def certificate(self) -> Certificate:
        """Return the certificate of the last optimum."""
        return Certificate.of(self._weights, self.cycles, self.multipliers, self._low, self._high)

    def purge(self) -> None:
        """Drop inequalities that were not tight for some optima."""
        slack = self.cycles.right_sides - self.cycles.activity(self.x)
        # Rows that were tight lately would soon be violated again.
        gone = (self._idle >= IDLE) & (slack > SLACK)
        if gone.any():
            places = np.flatnonzero(gone).astype(np.int32)
            self._highs.deleteRows(len(places), places)
            kept = np.flatnonzero(~gone)
            self.cycles = self.cycles.take(kept)
            self._idle = self._idle[kept]
            self.multipliers = self.multipliers[kept]
