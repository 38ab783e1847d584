"""Search by recombination: combine independent local optima cluster by cluster, on several levels.

References:
    Houdayer, Martin (1999), Renormalization for discrete optimization.
    Whitley, Hains, Howe (2009), Tunneling between optima: partition crossover for the traveling
    salesman problem.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import Problem
from .contraction import contract
from .subgraph_moves import SubgraphMoves
from .tabu_runs import TabuRuns

OPTIMA = 8
"""Local optima that are recombined at once."""

SHRUNK = 0.5
"""Largest number of clusters, as a share of the variables, at which local optima are recombined."""


def recombination(
    problem: Problem,
    z: np.ndarray,
    moves: type[SubgraphMoves | TabuRuns],
    generator: np.random.Generator,
    deadline: Deadline,
) -> np.ndarray:
    """Search for the best assignment `[n]` until a deadline; it is at least as good as `z`.

    With `TabuRuns` it ends early if their local optima have too little in common to be recombined.

    Args:
        problem: a single instance on the host.
        z: `[n]` of zeros and ones.
        moves: the class that searches for local optima.
        generator: generator of the random numbers.
        deadline: time after which no further move begins.
    """
    start = z.astype(np.int8)
    search = moves(problem, generator)
    elite = [search.improved(start, deadline)]
    while not deadline.passed:
        deadline.tell(partial(_known, problem, [start, *elite]))
        elite[0], shrunk = _descent(elite[0], search, deadline)
        # Local optima that disagree everywhere leave nothing to contract.
        if moves is TabuRuns and not shrunk:
            break
        # The list stays short: each crossing works on a few optima.
        elite = _best(problem, elite)[: OPTIMA + 1]
        elite[0], _ = _crossed(elite, search, deadline)
        # A fresh optimum brings in what the others have lost by crossing.
        elite.insert(0, search.optimum(deadline))
    return _best(problem, [start, *elite])[0]


def _descent(
    z: np.ndarray, search: SubgraphMoves | TabuRuns, deadline: Deadline
) -> tuple[np.ndarray, bool]:
    """Recombine `z` until nothing is gained; also return whether the last clusters were few.

    The result is usually a cluster or two away from the maximum, each time other ones. So combining
    several such states is better than recombining one of them more often.
    """
    problem = search.problem
    while True:
        better, shrunk = _recombined(z, search, deadline)
        gain = float(problem.score_flat(better[None])[0] - problem.score_flat(z[None])[0])
        z = better
        if gain <= problem.rounding[0] or not shrunk or deadline.passed:
            return z, shrunk


def _recombined(
    z: np.ndarray, search: SubgraphMoves | TabuRuns, deadline: Deadline
) -> tuple[np.ndarray, bool]:
    """Return `z` or better, made of its clusters with some local optima; whether they were few."""
    states = [z]
    while len(states) <= OPTIMA and not deadline.passed:
        states.append(search.optimum(deadline))
    return _crossed(_best(search.problem, states), search, deadline)


def _crossed(
    states: list[np.ndarray], search: SubgraphMoves | TabuRuns, deadline: Deadline
) -> tuple[np.ndarray, bool]:
    """Return the first state or better, made of the clusters of all; whether they were few."""
    problem = search.problem
    contracted = contract(problem, np.stack(states))
    smaller = contracted.problem
    # A problem that is hardly smaller is not easier to search.
    if smaller.n > SHRUNK * problem.n:
        return states[0], False
    below = type(search)(smaller, search.generator)
    y = below.improved(np.zeros(smaller.n, np.int8), deadline)
    if smaller.n > 1:
        y, _ = _recombined(y, below, deadline)
    return _best(problem, [states[0], search.improved(contracted.lift(y), deadline)])[0], True


def _known(problem: Problem, states: list[np.ndarray]) -> Known:
    return Known.of(_best(problem, states)[0])


def _best(problem: Problem, states: list[np.ndarray]) -> list[np.ndarray]:
    """Return the states, the best first."""
    scores = [float(problem.score_flat(state[None])[0]) for state in states]
    return [states[k] for k in np.argsort(np.negative(scores), kind="stable")]
