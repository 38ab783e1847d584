"""The states of highest score, in order, with a proof that no other lies between."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import States, check_room
from ..errors import OptionError, shortened
from ..limits.deadline import Deadline
from ..limits.interrupts import counted_interrupts, in_threads, interrupts
from ..options import is_whole
from ..ranking import Ranked, certified_ranking, filled
from ..solution import Solution, SolveInterrupted
from ..solver import CertifiedSolver, Maximisable
from .kinds import Choose, Fixed, Kind
from .listening import heard_of, with_word
from .request import Request


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


def k_best(request: Request, choose: Choose, choose_ranking: Choose) -> Solution:
    """The best states of every instance, their scores in falling order.

    A backend that finds many at once is asked for them; where none does, the states that were found
    are excluded, one after the other, by fixing variables.

    Args:
        request: what to solve, and how many states to give.
        choose: the solver of a problem.
        choose_ranking: the solver that is asked for many states of it.

    Returns:
        Arrays with one more dimension `k` behind the leading ones. `bound[..., j]` is one on all
        states but the first j, and `optimal[..., j]` whether none of these scores more than state
        j. Where there are fewer states than `k`, the last rows hold -1, and their scores and bounds
        are minus infinity.

    Raises:
        SolveInterrupted: Ctrl-C; it has the states so far, and others.
    """
    kind = request.kind
    deadline = request.deadline
    count = check_count(request.k, request.problem)
    fixed = kind.fixed(request.problem.to_host(), request.fix)
    problem = fixed.problem
    rest = fixed.rest
    searched = problem
    if rest is not None:
        searched = rest
    solver = choose_ranking(searched)
    existing = fixed.states(count)
    solver.check(searched)
    ranked = None
    if rest is not None:
        ranked = _ranked(kind, fixed, existing, solver, deadline)
    if ranked is None:
        solver = choose(searched)
        open_ = np.arange(problem.batch)
        states = np.empty((problem.batch, existing, problem.n), kind.state_type)
        bounds = np.empty((problem.batch, existing))
    else:
        states, bounds = _whole(fixed, ranked)
        # No search has ranked an instance with an infinite bound: its states follow by exclusion.
        open_ = np.flatnonzero(bounds[:, 0] == math.inf)
    exclusion = kind.exclusion(choose, deadline)
    for place, b in enumerate(open_.tolist()):
        # The first search has to begin, however short the time is; a batch of them would take long.
        if place and deadline.passed:
            late = open_[place:]
            states[late], bounds[late] = exclusion.unsearched(fixed, late, existing)
            break
        states[b], bounds[b] = exclusion.ranked(fixed.instance(b), existing, b)
    states, bounds = filled(states, bounds, count)
    solution = certified_ranking(problem, states, bounds, solver, partial(kind.score, problem))
    if ranked is not None:
        name = ranked.solver or solver.name
        stats = {**ranked.stats, **solution.stats}
        solution = with_word(replace(solution, solver=name, stats=stats), solver)
    # The states are ordered and certified before the interrupt goes on.
    if interrupts() != deadline.interrupts:
        raise SolveInterrupted(solution)
    return solution


def _ranked(
    kind: Kind[Any],
    fixed: Fixed,
    count: int,
    solver: CertifiedSolver[Any],
    deadline: Deadline,
) -> Ranked | None:
    """Return the states that a backend ranks in one call.

    None if the backend cannot rank states, or if a search is asked for a single state.
    """
    if not solver.capabilities.time_limit:
        return kind.ranked(solver, fixed.rest, count, deadline)
    if count == 1 or not solver.ranks:
        return None
    # a search, in a thread of its own as all are
    with counted_interrupts(), heard_of(fixed.rest, fixed.known):
        search = partial(kind.ranked, solver, fixed.rest, count, Deadline.of(deadline))
        (ranked,) = in_threads([search], 1)
    return ranked


def _whole(fixed: Fixed, ranked: Ranked) -> tuple[States, np.ndarray]:
    """Return states `[batch, count, n]` of the whole problem, with bounds `[batch, count]`.

    Each bound holds for all states but those before it.
    """
    states = fixed.whole(ranked.z)
    # Proved up to rounding: that of sums of bounds would add up.
    proved = ranked.others - ranked.last <= fixed.rest.tolerance
    bounds = np.where(proved, -math.inf, fixed.raised(ranked.others))
    return states, np.repeat(bounds[:, None], states.shape[1], axis=1)
