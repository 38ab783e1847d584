"""The states of highest score among those that satisfy constraints, in order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..arrays import States, home_of
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline
from ..limits.interrupts import interrupts
from ..problem import Problem
from ..ranking import certified_ranking, filled, ranked_states_within
from ..solution import Solution, SolveInterrupted
from ..solver import ArgmaxSolver, score_states
from .k_best import check_count
from .listening import heard_of, with_word

MOST_NEAR, MOST_SWAPPED = 4, 60
"""States around which others are looked for when time is up, and variables on either side that change places."""


def k_best_within(
    problem: Problem, rows: Rows, count: int, solver: ArgmaxSolver, time_limit: float | None
) -> Solution:
    """The `count` best states of every instance that satisfy constraints, their scores in falling order.

    A backend that finds many at once is asked for them; elsewhere each state that was found is
    excluded by one more constraint.

    Args:
        problem: what to solve.
        rows: the constraints.
        count: how many.
        solver: that takes constraints.
        time_limit: seconds for the whole batch.

    Returns:
        As `k_best`. Rows of states that were not found in time hold -1 too; their bounds are those
        of other states.

    Raises:
        InfeasibleError: no state satisfies them.
        SolveFailedError: none was found in time.
        SolveInterrupted: Ctrl-C; it has the states so far, and others.
    """
    count, deadline = check_count(count, problem), Deadline.after(time_limit)
    solver.check(problem, time_limit)
    solver.check_within(problem, rows)
    host = problem.to_host()
    found = ranked_states_within(solver, host, rows, count)
    score = partial(score_states, host)
    if found is not None:
        if not found.z.shape[1]:
            raise InfeasibleError(rows.names)
        bounds = np.where(found.others - found.last <= host.tolerance, -math.inf, found.others)
        bounds = np.repeat(bounds[:, None], found.z.shape[1], axis=1)
        states, bounds = filled(found.z, bounds, count)
        return with_word(certified_ranking(host, states, bounds, solver, score), solver)
    if count > 1:
        solver.check_within(problem, rows.without(np.zeros(problem.n, np.int8)))
    search = _OneMoreConstraint(solver, rows, deadline)
    ranked = [search.ranked(host, instance, count) for instance in range(host.batch)]
    states, bounds = (np.stack(part) for part in zip(*ranked, strict=True))
    solution = certified_ranking(host, states, bounds, solver, score)
    if interrupts() != deadline.interrupts:
        raise SolveInterrupted(solution)
    return solution


@dataclass(frozen=True, eq=False)
class _OneMoreConstraint:
    """States one after the other, each excluded from then on.

    Attributes:
        solver: that takes constraints.
        rows: the constraints.
        deadline: after which others come back that satisfy them, near those that were found.
    """

    solver: ArgmaxSolver
    rows: Rows
    deadline: Deadline

    def ranked(self, problem: Problem, instance: int, count: int) -> tuple[States, np.ndarray]:
        """States `[count, n]` of an instance, and bounds `[count]` on all but those before each."""
        part = slice(instance, instance + 1)
        single = replace(problem, home=home_of(problem.unary)).instances(part)
        rows, bound = self.rows, float(single.positive_part[0])
        states: list[np.ndarray] = []
        bounds: list[float] = []
        while len(states) < count:
            if states and self.deadline.passed:
                states += self._nearby(single, states, count)
                break
            try:
                with heard_of(None if states else single, lambda known: known._replace(part=part)):
                    found = self._searched(single, rows, states)
            except InfeasibleError:
                if not states:
                    raise InfeasibleError(self.rows.names) from None
                bound = -math.inf  # there are no others
                break
            if found is not None:
                states.append(found.z[0])
                bound = min(bound, float((found.score if found.optimal[0] else found.bound)[0]))
                bounds.append(bound)
                rows = rows.without(found.z[0])
        found_states, _ = filled(np.stack(states), np.zeros(len(states)), count)
        return found_states, np.array(bounds + [bound] * (count - len(bounds)))

    def _searched(self, single: Problem, rows: Rows, before: list[np.ndarray]) -> Solution | None:
        """The best state that satisfies `rows`; None where the time was too short for another one."""
        try:
            return self.solver.solve_within(single, rows, self.deadline.seconds)
        except SolveInterrupted as stopped:
            if stopped.found:
                return stopped.solution
            if not before:
                raise
            return None
        except SolveFailedError:
            if before and self.deadline.passed:
                return None
            raise

    def _nearby(self, single: Problem, states: list[np.ndarray], count: int) -> list[np.ndarray]:
        """Up to `count` in all: the best states that satisfy the constraints one flip or swap away from those found."""
        others = np.unique(np.concatenate([_neighbours(z) for z in states[:MOST_NEAR]]), axis=0)
        known = {z.tobytes() for z in states}
        others = others[self.rows.satisfied(others) & [z.tobytes() not in known for z in others]]
        missing = count - len(states)
        scores = [float(score_states(single, z[None])[0]) for z in others]
        return list(others[np.argsort(np.negative(scores), kind="stable")[:missing]])


def _neighbours(z: np.ndarray) -> States:
    """`[others, n]`: the states one flip, or one swap of a 0 and a 1 away."""
    ones, zeros = np.flatnonzero(z)[:MOST_SWAPPED], np.flatnonzero(z == 0)[:MOST_SWAPPED]
    pairs = np.stack(np.meshgrid(ones, zeros), axis=-1).reshape(-1, 2)
    others = np.repeat(z[None], len(z) + len(pairs), axis=0)
    others[np.arange(len(z)), np.arange(len(z))] ^= 1
    for end in pairs.T:
        others[len(z) + np.arange(len(pairs)), end] ^= 1
    return others
