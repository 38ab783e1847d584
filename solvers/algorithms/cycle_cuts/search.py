"""Solve one instance by cycle cuts, from its maximum cut to the optimality certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...limits.deadline import Deadline, now
from ...problems.problem import Problem
from ..local_search.ascent import ascend
from ..local_search.improvement import Improver
from ..local_search.recombination import recombination
from ..local_search.subgraph_moves import LARGEST_PART, SubgraphMoves
from ..local_search.warm_start import first_state
from .branch import BranchAndCut
from .gap import close_gap
from .max_cut import MaxCut

MOVES_SHARE = 0.5
"""Time for a better state before the gap is closed, as a share of the time that the root took."""

LEAST_MOVES = 0.05
"""Minimum time, in seconds, for that better state."""

MOST_MOVES = 10.0
"""Maximum time, in seconds, for that better state."""

MOVES_DEGREE = 8
"""Greatest mean degree at which moves of most variables at once search for that state."""

SWEEP_SHARE = 0.5
"""Maximum share of the remaining time for sweeps before branching."""

MOST_SWEPT = 4096
"""Largest number of vertices for sweeps; the time for an order grows with its square."""


class CutSearch:
    """A search for the best state of one instance that can be stopped and resumed."""

    def __init__(self, problem: Problem, deadline: Deadline, start: np.ndarray | None = None):
        """Prepare the search, and bound its root without cycles.

        Args:
            problem: a single instance on the host.
            deadline: ends the local search for a first state early.
            start: `[n]`, a state to start from; None for that of `local_search`.
        """
        begin = now()
        self._problem = problem
        self._z = first_state(problem, start, deadline)
        self._cut = MaxCut.of(problem)
        self._deadline = deadline
        self._improver = Improver(problem)
        self._search: BranchAndCut | None = None
        # Without edges every cut weighs 0.
        if len(self._cut.weights):
            self._search = BranchAndCut(self._cut, _sides(self._cut, self._z), self._improve)
        self._root_seconds = now() - begin
        self._moved = False

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best state so far."""
        if self._search is None:
            return self._z
        # The cut's units may be rounded, so a single flip can still gain in the true scores.
        return np.asarray(ascend(self._problem, self._cut.state(self._search.side)[None])[0])

    @property
    def score_bound(self) -> float:
        """An upper bound on all scores."""
        if self._search is None:
            return self._cut.score_bound(0)
        return self._cut.score_bound(self._search.bound)

    @property
    def seconds_left(self) -> float:
        """Infinite: the time until an optimality certificate is unknown."""
        return math.inf

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of nodes and of simplex iterations so far."""
        if self._search is None:
            return {}
        return {
            "nodes": self._search.nodes,
            "iterations": self._search.relaxation.iterations,
        }

    def offer(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it is better than the best one."""
        if self._search is not None:
            self._search.offer(_sides(self._cut, z))

    def run(self, deadline: Deadline) -> None:
        """Search until the end or the deadline."""
        search = self._search
        if search is None or search.finished:
            return
        begin = now()
        self._deadline = deadline
        search.cut_root(deadline)
        self._root_seconds += now() - begin
        # A root that the deadline cut off is cut again in the next run.
        if search.finished or not search.root_done:
            return
        if not self._moved:
            self._moved = True
            self._move(search)
        # Sweeps close the rest of the gap, if the frontier of the graph is narrow enough.
        if not search.finished and not search.nodes and self._cut.vertices <= MOST_SWEPT:
            close_gap(search, deadline.within(SWEEP_SHARE * deadline.left))
        search.search(deadline)

    def _move(self, search: BranchAndCut) -> None:
        """Search for a better state, for a share of the time that the root took."""
        # The local searches so far count as time for moves.
        seconds = MOVES_SHARE * self._root_seconds - self._improver.spent
        better = _improved(self._problem, self._cut.state(search.side), self._deadline, seconds)
        search.offer(_sides(self._cut, better))

    def _improve(self, search: BranchAndCut) -> None:
        better = self._improver.better(self._cut.state(search.side), self._deadline)
        if better is not None:
            search.offer(_sides(self._cut, better))


def _improved(problem: Problem, z: np.ndarray, deadline: Deadline, seconds: float) -> np.ndarray:
    """Return `z [n]`, or a better state of a sparse problem."""
    if problem.n > LARGEST_PART or 2 * problem.e > MOVES_DEGREE * problem.n:
        return z
    soon = deadline.within(min(MOST_MOVES, max(LEAST_MOVES, seconds), 0.1 * deadline.left))
    return recombination(problem, z, SubgraphMoves, np.random.default_rng(0), soon)


def _sides(cut: MaxCut, z: np.ndarray) -> np.ndarray:
    return np.append(z, 0)[: cut.vertices].astype(np.int8)
