"""Search groups of instances one after the other, and join their solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import home_of
from ...limits.progress import Known
from ...problems.fixed_values import values_of
from ...solution import Solution, SolveInterrupted
from ..k_best.unconstrained import check_count
from ..listening import report_for_whole
from ..portfolio import SEPARATOR
from ..request import Request


def solve_groups(
    request: Request, groups: list[np.ndarray], solve: Callable[[Request], Solution]
) -> Solution:
    """Return the solution of a batch whose instances fix different variables.

    Args:
        request: has values to fix.
        groups: numbers of the instances of each group; every instance is in one group.
        solve: returns the solution of a request whose instances all fix the same variables.

    Raises:
        SolveInterrupted: Ctrl-C; searches of later groups end at once.
    """
    solutions = []
    is_interrupted = False
    for rows, group in _requests(request, groups):
        try:
            with report_for_whole(group.problem, partial(_renumbered, rows)):
                solution = solve(group)
        except SolveInterrupted as interrupt:
            solution = interrupt.solution
            is_interrupted = True
        solutions.append(solution)
    joined = _joined(request, groups, solutions)
    if is_interrupted:
        raise SolveInterrupted(joined)
    return joined


def _requests(request: Request, groups: list[np.ndarray]) -> Iterator[tuple[np.ndarray, Request]]:
    """Yield the instances and the request of each group, with a share of the time that is left."""
    problem = request.problem.to_host()
    values = values_of(problem, request.fix)
    states = request.kind.states(request.start, problem)
    whole = replace(problem, home=home_of(values))
    instances_left = sum(map(len, groups))
    for rows in groups:
        start = None
        if states is not None:
            start = states[rows]
        share = request.deadline.left * len(rows) / instances_left
        instances_left -= len(rows)
        group = replace(
            request,
            problem=whole.instances(rows),
            deadline=request.deadline.within(share),
            fix=values[rows],
            start=start,
        )
        yield rows, group


def _joined(request: Request, groups: list[np.ndarray], solutions: list[Solution]) -> Solution:
    """Return the solution of the batch; -1 for instances whose search was stopped too early."""
    problem = request.problem.to_host()
    shape: tuple[int, ...] = (problem.batch,)
    if request.k is not None:
        shape = (problem.batch, check_count(request.k, problem))
    z = np.full((*shape, problem.n), -1, request.kind.state_type)
    score = np.full(shape, -np.inf)
    bound = np.full(shape, np.inf)
    optimal = np.zeros(shape, bool)
    for rows, solution in zip(groups, solutions, strict=True):
        if solution.score.ndim < len(shape):  # no state of a ranking was found
            continue
        z[rows] = solution.z
        score[rows] = solution.score
        bound[rows] = solution.bound
        optimal[rows] = solution.optimal
    return Solution(
        z=problem.restore(z),
        score=problem.restore(score),
        optimal=problem.restore(optimal),
        bound=problem.restore(bound),
        solver=SEPARATOR.join(dict.fromkeys(solution.solver for solution in solutions)),
        stats={**_common([solution.stats for solution in solutions]), "groups": len(groups)},
    )


def _renumbered(rows: np.ndarray, incumbent: Known) -> Known:
    """Return the incumbents of a group, with the numbers of their instances in the whole batch."""
    return incumbent._replace(rows=rows[incumbent.rows])


def _common(stats: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the statistics on which all groups agree; different texts are joined."""
    common = {}
    for name, value in stats[0].items():
        others = [of_group.get(name) for of_group in stats]
        if all(other == value for other in others):
            common[name] = value
        elif all(isinstance(other, str) for other in others):
            common[name] = SEPARATOR.join(dict.fromkeys(map(str, others)))
    return common
