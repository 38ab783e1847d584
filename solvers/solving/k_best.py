"""The states of highest score, in order, with a proof that no other lies between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ..algorithms.local_search.near_states import flip_gains
from ..arrays import States, check_room
from ..errors import OptionError, shortened
from ..limits.deadline import Deadline
from ..limits.interrupts import counted_interrupts, in_threads, interrupts
from ..options import is_whole
from ..problem import Problem
from ..ranking import Ranked, certified_ranking, filled, ranked_states, states_of
from ..solution import Solution, SolveInterrupted
from ..solver import ArgmaxSolver, Maximisable, score_states
from .fixing import Fixing
from .lawler import lawler
from .listening import heard_of, with_word

Choose: TypeAlias = Callable[[Problem], ArgmaxSolver]
"""The solver for a problem, of which some variables may be fixed."""


def check_count(count: Any, problem: Maximisable) -> int:
    """Return the number of states that are asked for of each instance of a problem.

    Raises:
        OptionError: it is no whole number from 1.
        ProblemTooLargeError: memory does not hold so many states.
    """
    if not is_whole(count, 1):
        raise OptionError(
            f"k_best must be a whole number of states, at least 1; got {shortened(count)}"
        )
    check_room(f"k_best = {count} states", problem.unary, problem.batch * problem.n * int(count))
    return int(count)


def k_best(
    fixing: Fixing, count: int, choose: Choose, choose_ranking: Choose, time_limit: float | None
) -> Solution:
    """The `count` best states of every instance, their scores in falling order.

    A backend that finds many at once is asked for them; where none does, the states that were found
    are excluded, one after the other, by fixing variables.

    Args:
        fixing: what to solve, perhaps with variables that keep a value.
        count: how many.
        choose: the solver of a problem.
        choose_ranking: the solver that is asked for many states of it.
        time_limit: seconds for the whole batch.

    Returns:
        Arrays with one more dimension `count` behind the leading ones. `bound[..., k]` is one on
        all states but the first k, and `optimal[..., k]` whether none of these scores more than
        state k. Where there are fewer states than `count`, the last rows hold -1, and their scores
        and bounds are minus infinity.

    Raises:
        SolveInterrupted: Ctrl-C; it has the states so far, and others.
    """
    problem, deadline = fixing.problem, Deadline.after(time_limit)
    search = _Exclusion(choose, deadline)
    count = check_count(count, problem)
    rest, solver = fixing.rest, choose_ranking(fixing.rest or problem)
    existing = states_of(0 if rest is None else rest.n, count)
    solver.check(rest or problem, time_limit)
    found = None if rest is None else _ranking(fixing, rest, existing, solver, deadline)
    if rest is None or found is None:
        solver, open_ = choose(rest or problem), np.arange(problem.batch)
        states = np.empty((problem.batch, existing, problem.n), np.int8)
        bounds = np.empty((problem.batch, existing))
    else:
        states, bounds = _whole(fixing, rest, found)
        open_ = np.flatnonzero(bounds[:, 0] == math.inf)
    for b in open_.tolist():
        states[b], bounds[b] = search.ranked(fixing.instance(b), existing, b)
    states, bounds = filled(states, bounds, count)
    solution = certified_ranking(problem, states, bounds, solver, partial(score_states, problem))
    if found is not None:
        word = replace(
            solution, solver=found.solver or solver.name, stats={**found.stats, **solution.stats}
        )
        solution = with_word(word, solver)
    if interrupts() != deadline.interrupts:
        raise SolveInterrupted(solution)
    return solution


def _ranking(
    fixing: Fixing, rest: Problem, count: int, solver: ArgmaxSolver, deadline: Deadline
) -> Ranked | None:
    """What a backend finds at once; None where it does not, or where it is asked for a single state."""
    if not solver.capabilities.time_limit:
        return ranked_states(solver, rest, count)
    if count == 1:
        return None
    # a search, in a thread of its own as all are
    with counted_interrupts(), heard_of(rest, fixing.known):
        (found,) = in_threads([partial(ranked_states, solver, rest, count, deadline)], 1)
    return found


def _whole(fixing: Fixing, rest: Problem, found: Ranked) -> tuple[States, np.ndarray]:
    """States `[batch, count, n]` of the whole problem, and bounds `[batch, count]` on all but those before each."""
    states = np.repeat(fixing.values[:, None], found.z.shape[1], axis=1)
    states[:, :, fixing.values[0] < 0] = found.z
    # Proved up to rounding: that of sums of bounds would add up.
    lifted = found.others + fixing.constant + fixing.problem.rounding / 2
    proved = found.others - found.last <= rest.tolerance
    bounds = np.where(proved, -math.inf, lifted)
    return states, np.repeat(bounds[:, None], states.shape[1], axis=1)


@dataclass(frozen=True, eq=False)
class _Region:
    """The states with some values, and the best that is known of them.

    Attributes:
        z: `[n]`, the state.
        score: of it.
        bound: on the scores of the region.
        values: `[n]`, -1 for a free variable.
    """

    z: np.ndarray
    score: float
    bound: float
    values: np.ndarray


def _flipped(taken: _Region, variable: int, values: np.ndarray, gain: float) -> _Region:
    """A part of a region that is not searched: with the nearest state, and the bound of the whole."""
    z = taken.z.copy()
    z[variable] = values[variable]
    return _Region(z, taken.score + gain, taken.bound, values)


@dataclass(eq=False)
class _Exclusion:
    """The region of a state that is taken falls into those that differ from it, in the first variable or a later one.

    Attributes:
        choose: the solver of a problem.
        deadline: after which regions are not searched.
        interrupted: whether Ctrl-C ended a search.
    """

    choose: Choose
    deadline: Deadline
    interrupted: bool = False

    def ranked(self, fixing: Fixing, count: int, number_of: int) -> tuple[States, np.ndarray]:
        """States `[count, n]` of an instance of a batch, and bounds `[count]` on all but those before each."""
        part = slice(number_of, number_of + 1)
        with heard_of(fixing.rest, lambda known: fixing.known(known)._replace(part=part)):
            first = self._searched(fixing)
        return lawler(first, count, partial(self._others, fixing.problem))

    def _others(self, problem: Problem, taken: _Region) -> Iterator[_Region]:
        """By the first variable in which they differ from the state of the region."""
        values, gains = taken.values.copy(), None
        for i in np.flatnonzero(values < 0):
            values[i] = 1 - taken.z[i]
            if not (self.interrupted or self.deadline.passed):
                found = self._searched(Fixing.of(problem, values.copy()))
                yield replace(found, bound=min(found.bound, taken.bound))
            else:
                gains = flip_gains(problem, taken.z) if gains is None else gains
                yield _flipped(taken, int(i), values.copy(), float(gains[i]))
            values[i] = taken.z[i]

    def _searched(self, fixing: Fixing) -> _Region:
        found = None
        if fixing.rest is not None:
            solver = self.choose(fixing.rest)
            limit = self.deadline.seconds if solver.capabilities.time_limit else None
            try:
                found = solver.solve(fixing.rest, limit)
            except SolveInterrupted as stopped:
                if not stopped.found:
                    raise
                found, self.interrupted = stopped.solution, True
        whole = fixing.lifted(found)
        z, score, bound, optimal = (
            part.reshape(-1) for part in (whole.z, whole.score, whole.bound, whole.optimal)
        )
        # Proved up to rounding: that of sums of bounds would add up.
        return _Region(
            z, float(score[0]), float(score[0] if optimal[0] else bound[0]), fixing.values[0]
        )
