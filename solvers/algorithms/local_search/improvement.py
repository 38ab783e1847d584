"""A state that a search has come to, or a better one: by recombination of local optima, or by tabu search alone."""

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
"""Greatest mean degree of graphs of which few variables need be taken out to leave one of small width."""

RECOMBINED_FROM = 100
"""Least n at which recombination finds what single flips miss."""

MOST_EDGES = 1_000_000
"""With more, a tabu run, a contraction or roof duality takes seconds."""

RECOMBINED_SHARE = 0.5
"""Of the time, at most, for the recombination of problems that are not sparse."""


def is_recombined(problem: Problem) -> bool:
    """Whether recombination finds what tabu search alone would miss."""
    return problem.n >= RECOMBINED_FROM and problem.e <= MOST_EDGES


def has_subgraph_moves(problem: Problem) -> bool:
    """Whether moves of most variables at once make its local optima."""
    return 2 * problem.e <= SUBGRAPH_DEGREE * problem.n


def recombined(problem: Problem, z: States, seed: int, deadline: Deadline) -> States:
    """`z [batch, n]` or better, instance by instance, which share the time that is left."""
    moves = SubgraphMoves if has_subgraph_moves(problem) else TabuRuns
    found = z.copy()
    for instance in range(problem.batch):
        if deadline.passed:
            break
        single = problem.instances(slice(instance, instance + 1))
        soon = deadline.within(deadline.left / (problem.batch - instance)).within_whole(
            single, partial(Known._replace, part=slice(instance, instance + 1))
        )
        generator = np.random.default_rng([seed, instance])
        found[instance] = recombination(single, found[instance], moves, generator, soon)
    return found


def better(problem: Problem, z: States, others: States) -> States:
    """`[batch, n]`: of two states of each instance the one that scores more, the first where they are equal."""
    gains = problem.score_flat(others) > problem.score_flat(z)
    return np.where(gains[:, None], others, z)


def improved(problem: Problem, z: np.ndarray, deadline: Deadline, seed: int = 0) -> np.ndarray:
    """`[n]`: `z` or better, searched for until the deadline on one thread.

    Args:
        problem: of a single instance, on the host.
        z: `[n]` of zeros and ones.
        deadline: when to end; what has begun by then is completed.
        seed: of the random numbers; another one where it is called again.
    """
    best = z[None].astype(np.int8)
    if deadline.passed:
        return np.asarray(best[0])
    if is_recombined(problem):
        share = 1.0 if has_subgraph_moves(problem) else RECOMBINED_SHARE
        best = recombined(problem, best, seed, deadline.within(share * deadline.left))
    if not deadline.passed:
        arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
        found = tabu_search(
            *arrays,
            seed=seed,
            deadline=deadline,
            threads=1,
            found=lambda z: deadline.tell(lambda: Known(z)),
        )
        best = better(problem, best, found)
    return np.asarray(best[0])
