"""Solve one instance by cycle cuts, from its maximum cut to the optimality certificate."""

from __future__ import annotations

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


def search_cuts(
    problem: Problem, deadline: Deadline, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, Mapping[str, int]]:
    """Search for the best state `[n]`; return it, an upper bound, and counts.

    Args:
        problem: a single instance on the host.
        deadline: time at which the search ends.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    begin = now()
    z = first_state(problem, start, deadline)
    cut = MaxCut.of(problem)
    # Without edges every cut weighs 0.
    if not len(cut.weights):
        return z, cut.score_bound(0), {}
    improver = Improver(problem)

    def improve(search: BranchAndCut) -> None:
        better = improver.better(cut.state(search.side), deadline)
        if better is not None:
            search.offer(_sides(cut, better))

    search = BranchAndCut(cut, _sides(cut, z), improve)
    search.cut_root(deadline)
    if not search.finished:
        # The local searches so far count as time for moves.
        seconds = MOVES_SHARE * (now() - begin) - improver.spent
        better = _improved(problem, cut.state(search.side), deadline, seconds)
        search.offer(_sides(cut, better))
    # Sweeps close the rest of the gap, if the frontier of the graph is narrow enough.
    if not search.finished and cut.vertices <= MOST_SWEPT:
        close_gap(search, deadline.within(SWEEP_SHARE * deadline.left))
    search.search(deadline)
    # The cut's units may be rounded, so a single flip can still gain in the true scores.
    z = ascend(problem, cut.state(search.side)[None])[0]
    counts = {"nodes": search.nodes, "iterations": search.relaxation.iterations}
    return z, cut.score_bound(search.bound), counts


def _improved(problem: Problem, z: np.ndarray, deadline: Deadline, seconds: float) -> np.ndarray:
    """Return `z [n]`, or a better state of a sparse problem."""
    if problem.n > LARGEST_PART or 2 * problem.e > MOVES_DEGREE * problem.n:
        return z
    soon = deadline.within(min(MOST_MOVES, max(LEAST_MOVES, seconds), 0.1 * deadline.left))
    return recombination(problem, z, SubgraphMoves, np.random.default_rng(0), soon)


def _sides(cut: MaxCut, z: np.ndarray) -> np.ndarray:
    return np.append(z, 0)[: cut.vertices].astype(np.int8)
