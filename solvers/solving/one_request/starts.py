"""Compare solutions with the states from which a caller asks a search to start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import States, to_numpy
from ...solution import Solution
from ...solver import CertifiedSolver
from ..kinds import kind_of


def solution_of_start(
    problem: Any, states: States, solver: CertifiedSolver[Any]
) -> Solution | None:
    """Return the states to start from as the solution, for a search that ended without one.

    None if one of them is forbidden.
    """
    host = problem.to_host()
    score = to_numpy(kind_of(problem).score(host, states))
    if (score == -np.inf).any():
        return None
    return Solution(
        z=host.restore(states),
        score=host.restore(score),
        optimal=host.restore(np.zeros(len(score), bool)),
        # A score may exceed the bound by rounding, and a
        # bound below a score would be a contradiction.
        bound=host.restore(np.maximum(score, to_numpy(host.trivial_bound))),
        solver=solver.name,
        stats={},
    )


def at_least_start(
    problem: Any,
    solution: Solution,
    states: States | None,
    takes_start: bool,
    allowed: np.ndarray | None = None,
) -> Solution:
    """Return a solution at least as good as the states to start from.

    Its `stats` say whether these states were used.

    Args:
        problem: the solved problem.
        solution: the solution of the search.
        states: `[batch, n]`, the states to start from; None for none.
        takes_start: whether the solver used them.
        allowed: `[batch]`, which of these states satisfy the constraints; None for all.
    """
    if states is None:
        return solution
    word = "unused"
    if takes_start:
        word = solution.stats.get("start", "used")
    solution = replace(solution, stats={**solution.stats, "start": word})
    optimal = to_numpy(solution.optimal).reshape(-1)
    if optimal.all():
        return solution
    host = problem.to_host()
    z = to_numpy(solution.z).reshape(problem.batch, problem.n)
    score = to_numpy(solution.score).reshape(-1)
    start_score = to_numpy(kind_of(problem).score(host, states))
    # A proved state stays, even if rounding makes the user's state look better.
    better = (start_score > score) & ~optimal
    if allowed is not None:
        better &= allowed
    if not better.any():
        return solution
    score = np.where(better, start_score, score)
    # A bound below the new score would contradict it.
    bound = np.maximum(score, to_numpy(solution.bound).reshape(-1))
    return replace(
        solution,
        z=host.restore(np.where(better[:, None], states, z)),
        score=host.restore(score),
        bound=host.restore(bound),
    )
