"""Find the states of highest score that satisfy constraints, in order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import States, home_of
from ...constraint_rows import Rows
from ...errors import InfeasibleError, SolveFailedError
from ...limits.deadline import Deadline
from ...limits.interrupts import interrupts
from ...ranking import certified_ranking, filled, ranked_states_within
from ...solution import Solution, SolveInterrupted
from ...solver import CertifiedSolver
from ..kinds import Kind
from ..listening import report_for_whole, with_callback_note
from ..request import Request
from ..selection import naming_alternatives
from .unconstrained import check_count

MOST_NEAR = 4
"""Maximum number of states whose neighbours are tried when the time limit has passed."""


def k_best_within(request: Request, rows: Rows, solver: CertifiedSolver[Any]) -> Solution:
    """Return the best states that satisfy constraints, in falling order of their scores.

    A backend that ranks states in one search returns them all. For other backends, one more
    constraint excludes each state that was found.

    Args:
        request: the problem, and how many states to return.
        rows: the constraints, including those that fix variables.
        solver: a solver that takes constraints.

    Returns:
        The same arrays as `k_best`. Rows of states that were not found in time also hold -1, and
        their bounds are those of the remaining states.

    Raises:
        InfeasibleError: no state satisfies the constraints.
        SolveFailedError: the search found no state in time.
        SolveInterrupted: Ctrl-C; it has the states so far, and other states without a proof.
        UnsupportedProblemError: the solver cannot take the constraints; it names others that can.
    """
    count = check_count(request.k, request.problem)
    with naming_alternatives(request.problem, _rows_of_last_search(rows, count)):
        return _best_states(request, rows, solver, count)


def _rows_of_last_search(rows: Rows, count: int) -> Rows:
    """Return constraints like those of the last of `count` searches.

    One more constraint excludes a state with ones and zeros. If all its variables were equal, the
    constraint would be a count, which more solvers take.
    """
    if count == 1:
        return rows
    state = np.zeros(rows.matrix.shape[1], np.int8)
    state[:1] = 1
    return rows.without(state)


def _best_states(
    request: Request, rows: Rows, solver: CertifiedSolver[Any], count: int
) -> Solution:
    """Return the best `count` states, as `k_best_within` does."""
    kind = request.kind
    problem = request.problem
    deadline = request.deadline
    solver.check(problem)
    solver.check_within(problem, rows)
    host: Any = problem.to_host()
    score = partial(kind.score, host)
    ranked = ranked_states_within(solver, host, rows, count)
    if ranked is not None:
        if not ranked.z.shape[1]:
            raise InfeasibleError(rows.names)
        proved = ranked.others - ranked.last <= host.tolerance
        others = np.where(proved, -math.inf, ranked.others)
        bounds = np.repeat(others[:, None], ranked.z.shape[1], axis=1)
        states, bounds = filled(ranked.z, bounds, count)
        return with_callback_note(certified_ranking(host, states, bounds, solver, score), solver)
    # Excluding a state adds a constraint. Raise before any work if the backend cannot take it.
    if count > 1:
        solver.check_within(problem, rows.without(np.zeros(rows.matrix.shape[1], np.int8)))
    search = _ExclusionByConstraints(kind, solver, rows, deadline)
    instances = [search.ranked(host, instance, count) for instance in range(host.batch)]
    states, bounds = (np.stack(arrays) for arrays in zip(*instances, strict=True))
    solution = certified_ranking(host, states, bounds, solver, score)
    solution = with_callback_note(solution, solver)
    if interrupts() != deadline.interrupts:
        raise SolveInterrupted(solution)
    return solution


@dataclass(frozen=True, eq=False)
class _ExclusionByConstraints:
    """Search that excludes each state it has found by one more constraint.

    Attributes:
        kind: the kind of the problem.
        solver: a solver that takes constraints.
        rows: the constraints.
        deadline: after it, states near those that were found come back, if they satisfy `rows`.
    """

    kind: Kind[Any]
    solver: CertifiedSolver[Any]
    rows: Rows
    deadline: Deadline

    def ranked(self, problem: Any, instance: int, count: int) -> tuple[States, np.ndarray]:
        """Return states `[count, n]`, with bounds `[count]`, each on all but earlier states."""
        of_one = slice(instance, instance + 1)
        single = replace(problem, home=home_of(problem.unary)).instances(of_one)
        rows = self.rows
        bound = float(single.trivial_bound[0])
        states: list[np.ndarray] = []
        bounds: list[float] = []
        while len(states) < count:
            if states and self.deadline.passed:
                states += self._nearby(single, states, count)
                break
            # Later states are worse than the first, so their searches report nothing to the callback.
            reported = single
            if states:
                reported = None
            try:
                with report_for_whole(reported, lambda incumbent: incumbent._replace(rows=of_one)):
                    solution = self._searched(single, rows, states)
            except InfeasibleError:
                if not states:
                    raise InfeasibleError(self.rows.names) from None
                bound = -math.inf  # no further state exists
                break
            if solution is not None:
                states.append(solution.z[0])
                # A proved state bounds all further ones by its score.
                if solution.optimal[0]:
                    limit = solution.score
                else:
                    limit = solution.bound
                # Every search has one more constraint, so bounds do not rise.
                bound = min(bound, float(limit[0]))
                bounds.append(bound)
                rows = rows.without(single.columns(solution.z)[0])
        found_states, _ = filled(np.stack(states), np.zeros(len(states)), count)
        return found_states, np.array(bounds + [bound] * (count - len(bounds)))

    def _searched(self, single: Any, rows: Rows, earlier: list[np.ndarray]) -> Solution | None:
        """Return the best state that satisfies `rows`; None if time ran out before another one."""
        try:
            return self.solver.solve_within(single, rows, self.deadline)
        except SolveInterrupted as interrupt:
            if interrupt.found:
                return interrupt.solution
            if not earlier:
                raise
            return None
        except SolveFailedError:
            if earlier and self.deadline.passed:
                return None
            raise

    def _nearby(self, single: Any, states: list[np.ndarray], count: int) -> list[np.ndarray]:
        """Return the best states near those in `states` that satisfy the constraints.

        Together with `states` there are at most `count`.
        """
        near = [self.kind.neighbours(single, z) for z in states[:MOST_NEAR]]
        others = np.unique(np.concatenate(near), axis=0)
        found = {z.tobytes() for z in states}
        is_new = np.array([z.tobytes() not in found for z in others], np.bool_)  # may be empty
        others = others[self.rows.satisfied(single.columns(others)) & is_new]
        scores = np.array([float(self.kind.score(single, z[None])[0]) for z in others])
        is_allowed = scores > -math.inf
        order = np.argsort(-scores[is_allowed], kind="stable")
        best = others[is_allowed][order]
        return list(best[: count - len(states)])
