"""The linear relaxation over odd cycles, by HiGHS, whose dual simplex goes on from its last basis."""

from __future__ import annotations

import numpy as np

from ...limits.deadline import Deadline
from .certificate import Certificate, Cycles

SLICE = 0.2
"""Seconds of a run of the simplex: how finely a time limit is kept and an interruption from the keyboard is heard."""

IDLE = 3
"""Solves in a row after which an inequality without a multiplier is dropped, if it is not tight."""

USED, SLACK = 1e-9, 1e-6
"""What counts as a multiplier and as slack."""


class Relaxation:
    """max w x over 0 <= x <= 1 and some odd-cycle inequalities, which come and go.

    Attributes:
        cycles: the inequalities.
        multipliers: `[k]`, theirs at the last optimum.
        x: `[m]`, the last optimum.
        unit: the largest magnitude of a weight.
        iterations: of the simplex.
    """

    def __init__(self, weights: np.ndarray):
        """No inequality yet.

        Args:
            weights: `[m]`, whole.
        """
        import highspy

        self._highs, self._module = highspy.Highs(), highspy
        options: dict[str, bool | int | str] = {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "threads": 1,
            "parallel": "off",
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._weights, m = weights, len(weights)
        self.unit = float(np.abs(weights).max(initial=1))
        self._highs.addCols(
            m,
            -weights / self.unit,
            np.zeros(m),
            np.ones(m),
            0,
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0),
        )
        self._idle = np.empty(0, np.int64)
        self._low, self._high = np.zeros(m, np.int8), np.ones(m, np.int8)
        self.cycles, self.x = Cycles.none(), (weights > 0).astype(np.float64)
        self.multipliers = np.empty(0)
        self.iterations = 0

    def add(self, cycles: Cycles) -> None:
        """Takes more inequalities."""
        k = len(cycles)
        self._highs.addRows(
            k,
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
        """Sets the bounds `[m]` of the edges, 0 and 1, or equal where one is fixed."""
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if len(changed):
            self._highs.changeColsBounds(
                len(changed),
                changed,
                low[changed].astype(np.float64),
                high[changed].astype(np.float64),
            )
        self._low, self._high = low.copy(), high.copy()

    def solve(self, deadline: Deadline) -> bool:
        """Goes on to an optimum; False where the deadline passes first, or the simplex gives up."""
        if not self._run(deadline):
            return False
        self.iterations += self._highs.getInfo().simplex_iteration_count
        solution = self._highs.getSolution()
        self.x = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self.multipliers = -np.array(solution.row_dual) * self.unit
        self._idle = np.where(self.multipliers > USED * self.unit, 0, self._idle + 1)
        return True

    def _run(self, deadline: Deadline) -> bool:
        status, codes = None, self._module.HighsModelStatus
        while status in (None, codes.kTimeLimit):
            if deadline.passed:
                return False
            self._highs.setOptionValue(
                "time_limit", self._highs.getRunTime() + min(SLICE, deadline.left)
            )
            self._highs.run()
            status = self._highs.getModelStatus()
        return bool(status == codes.kOptimal)

    def certificate(self) -> Certificate:
        """The bound that the last optimum proves."""
        return Certificate.of(self._weights, self.cycles, self.multipliers, self._low, self._high)

    def purge(self) -> None:
        """Drops what was not tight for some optima."""
        gone = (self._idle >= IDLE) & (
            self.cycles.right_sides - self.cycles.activity(self.x) > SLACK
        )
        if gone.any():
            places = np.flatnonzero(gone).astype(np.int32)
            self._highs.deleteRows(len(places), places)
            kept = np.flatnonzero(~gone)
            self.cycles, self._idle, self.multipliers = (
                self.cycles.take(kept),
                self._idle[kept],
                self.multipliers[kept],
            )
