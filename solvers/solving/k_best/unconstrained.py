"""Find the states of highest score, in order, with certificates that no state is missing."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import States, check_room
from ...errors import OptionError, shortened
from ...limits.deadline import Deadline
from ...limits.interrupts import counted_interrupts, in_threads, interrupts
from ...options import is_whole
from ...ranking import Ranked, certified_ranking, filled
from ...solution import Solution, SolveInterrupted
from ...solver import CertifiedSolver, Maximisable
from ..exclusion import Choose, Exclusion
from ..fixed import Fixed
from ..kinds import Kind
from ..listening import report_for_whole, with_callback_note
from ..request import Request


def check_count(count: Any, problem: Maximisable) -> int:
    """Check the number of states that a caller requests for each instance of a problem.

    Raises:
        OptionError: it is not a whole number of at least 1.
        ProblemTooLargeError: that many states do not fit into memory.
    """
    if not is_whole(count, 1):
        raise OptionError(
            f"k_best must be a whole number of states, at least 1; got {shortened(count)}"
        )
    check_room(f"k_best = {count} states", problem.unary, problem.batch * problem.n * int(count))
    return int(count)


def k_best(request: Request, choose: Choose, choose_ranking: Choose) -> Solution:
    """Return the best states of every instance, in falling order of their scores.

    A backend that ranks states in one search returns them all. For other backends, each state that
    was found is excluded by fixing variables.

    Args:
        request: the problem, and how many states to return.
        choose: returns the solver of a problem.
        choose_ranking: returns the solver that ranks many states of a problem.

    Returns:
        Arrays with one more dimension `k` behind the leading ones. `bound[..., j]` is an upper
        bound on all states except the first j. `optimal[..., j]` says whether none of these states
        scores more than state j. If there are fewer than `k` states, the last rows hold -1, and
        their scores and bounds are minus infinity.

    Raises:
        SolveInterrupted: Ctrl-C; it has the states so far, and other states without a proof.
    """
    kind = request.kind
    deadline = request.deadline
    count = check_count(request.k, request.problem)
    fixed = kind.fixed(request.problem.to_host(), request.fix)
    problem = fixed.problem
    searched = problem
    if fixed.rest is not None:
        searched = fixed.rest
    solver = choose_ranking(searched)
    existing = fixed.states(count)
    solver.check(searched)
    ranked = None
    if fixed.rest is not None:
        ranked = _ranked(kind, fixed, existing, solver, deadline)
    if ranked is None:
        solver = choose(searched)
        unranked = np.arange(problem.batch)
        states = np.empty((problem.batch, existing, problem.n), kind.state_type)
        bounds = np.empty((problem.batch, existing))
    else:
        states, bounds = _whole(fixed, ranked)
        # An infinite bound means that no search ranked the instance, so its states follow by
        # exclusion.
        unranked = np.flatnonzero(bounds[:, 0] == math.inf)
    exclusion = kind.exclusion(choose, deadline)
    _rank_by_exclusion(exclusion, fixed, unranked, states, bounds, deadline)
    states, bounds = filled(states, bounds, count)
    solution = certified_ranking(problem, states, bounds, solver, partial(kind.score, problem))
    if ranked is not None:
        name = ranked.solver or solver.name
        stats = {**ranked.stats, **solution.stats}
        solution = replace(solution, solver=name, stats=stats)
    solution = with_callback_note(solution, solver)
    # The states are ordered and certified before the interrupt is raised again.
    if interrupts() != deadline.interrupts:
        raise SolveInterrupted(solution)
    return solution


def _rank_by_exclusion(
    exclusion: Exclusion,
    fixed: Fixed[Any],
    unranked: np.ndarray,
    states: States,
    bounds: np.ndarray,
    deadline: Deadline,
) -> None:
    """Write the best states of some instances, which no search ranked, and their bounds.

    Args:
        exclusion: finds one state after the other.
        fixed: the batch.
        unranked: the numbers of these instances.
        states: `[batch, count, n]`, changed in place.
        bounds: `[batch, count]`, changed in place.
        deadline: when to end.
    """
    count = states.shape[1]
    for place, instance in enumerate(unranked.tolist()):
        # The first search starts even if the time limit is very short. A batch of searches would
        # take too long.
        if place and deadline.passed:
            late = unranked[place:]
            states[late], bounds[late] = exclusion.unsearched(fixed, late, count)
            return
        single = fixed.instance(instance)
        states[instance], bounds[instance] = exclusion.ranked(single, count, instance)


def _ranked(
    kind: Kind[Any],
    fixed: Fixed[Any],
    count: int,
    solver: CertifiedSolver[Any],
    deadline: Deadline,
) -> Ranked | None:
    """Return the states that a backend ranks in one call.

    None if the backend cannot rank states, or if a searching backend needs to find only one.
    """
    if not solver.capabilities.time_limit:
        return kind.ranked(solver, fixed.rest, count, deadline)
    if count == 1 or not solver.ranks:
        return None
    # Like every search, it runs in its own thread.
    with counted_interrupts(), report_for_whole(fixed.rest, fixed.known):
        search = partial(kind.ranked, solver, fixed.rest, count, Deadline.of(deadline))
        (ranked,) = in_threads([search], 1)
    return ranked


def _whole(fixed: Fixed[Any], ranked: Ranked) -> tuple[States, np.ndarray]:
    """Return states `[batch, count, n]` of the whole problem, with bounds `[batch, count]`.

    Each bound holds for all states except the ones before it.
    """
    states = fixed.whole(ranked.z)
    # The state is proved up to rounding. Without this, roundings of sums of bounds would add up.
    proved = ranked.others - ranked.last <= fixed.rest.tolerance
    bounds = np.where(proved, -math.inf, fixed.raised(ranked.others))
    return states, np.repeat(bounds[:, None], states.shape[1], axis=1)
