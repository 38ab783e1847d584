"""Improve a state by recombination of local optima, or by tabu search alone."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import States
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problem import Problem
from .recombination import recombination
from .subgraph_moves import SubgraphMoves
from .tabu import tabu_search
from .tabu_runs import TabuRuns

SUBGRAPH_DEGREE = 6
"""Greatest mean degree of graphs that become narrow once a few variables are taken out."""

RECOMBINED_FROM = 100
"""Least n at which recombination reaches states that single flips miss."""

MOST_EDGES = 1_000_000
"""Edges up to which a tabu run, a contraction and roof duality take less than seconds."""

RECOMBINED_SHARE = 0.5
"""Maximum share of the time for the recombination of problems that are not sparse."""


def is_recombined(problem: Problem) -> bool:
    """Return whether recombination reaches states that tabu search alone would miss."""
    return problem.n >= RECOMBINED_FROM and problem.e <= MOST_EDGES


def has_subgraph_moves(problem: Problem) -> bool:
    """Return whether moves of most variables at once produce the local optima."""
    return 2 * problem.e <= SUBGRAPH_DEGREE * problem.n


def recombined(problem: Problem, z: States, seed: int, deadline: Deadline) -> States:
    """Improve `z [batch, n]` instance by instance; the instances share the remaining time."""
    moves = SubgraphMoves if has_subgraph_moves(problem) else TabuRuns
    states = z.copy()
    for instance in range(problem.batch):
        if deadline.passed:
            break
        alone = slice(instance, instance + 1)
        single = problem.instances(alone)
        share = deadline.within(deadline.left / (problem.batch - instance))
        soon = share.within_whole(single, partial(Known._replace, part=alone))
        generator = np.random.default_rng([seed, instance])
        states[instance] = recombination(single, states[instance], moves, generator, soon)
    return states


def better(problem: Problem, z: States, others: States) -> States:
    """Return the better of two states of each instance, `[batch, n]`; the first on ties."""
    gains = problem.score_flat(others) > problem.score_flat(z)
    return np.where(gains[:, None], others, z)


def improved(problem: Problem, z: np.ndarray, deadline: Deadline, seed: int = 0) -> np.ndarray:
    """Improve a state `z [n]` until the deadline, on one thread.

    Args:
        problem: a single instance on the host.
        z: `[n]` of zeros and ones.
        deadline: when to end; a step that has begun by then is completed.
        seed: seed of the random numbers; another one for every call.
    """
    best = z[None].astype(np.int8)
    if deadline.passed:
        return np.asarray(best[0])
    if is_recombined(problem):
        share = 1.0 if has_subgraph_moves(problem) else RECOMBINED_SHARE
        best = recombined(problem, best, seed, deadline.within(share * deadline.left))
    if not deadline.passed:
        arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
        states = tabu_search(
            *arrays,
            seed=seed,
            deadline=deadline,
            threads=1,
            report=lambda z: deadline.tell(lambda: Known(z)),
        )
        best = better(problem, best, states)
    return np.asarray(best[0])
