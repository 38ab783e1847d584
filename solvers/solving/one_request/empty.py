"""Answer problems that have no instances or no variables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...errors import InfeasibleError
from ...problems.fixed_values import values_of
from ...solution import Solution
from ..k_best.unconstrained import check_count
from ..request import Request


def solve_empty(request: Request) -> Solution:
    """Return the only state of each instance: it has no variables, and its score is 0.

    Raises:
        OptionError: `fix` or `start` does not fit the problem.
        InfeasibleError: the constraints forbid that state.
    """
    problem = request.problem
    kind = request.kind
    if request.fix is not None:
        values_of(problem, request.fix)
    kind.states(request.start, problem)
    solver = kind.named(request.solver) or kind.select(problem).solver
    solution = solver.solve(problem)
    rows = request.rows
    state = np.zeros((problem.batch, problem.n), kind.state_type)
    if rows is not None and not rows.satisfied(problem.columns(state)).all():
        raise InfeasibleError(rows.names)
    if request.k is None:
        return solution
    count = check_count(request.k, problem)
    # There is a single state; the other rows are missing and score -inf.
    scores = np.full((problem.batch, count), -math.inf)
    scores[:, 0] = 0.0
    return replace(
        solution,
        z=problem.restore(np.zeros((problem.batch, count, problem.n), kind.state_type)),
        score=problem.restore(scores),
        bound=problem.restore(scores),
        optimal=problem.restore(np.ones((problem.batch, count), bool)),
    )
