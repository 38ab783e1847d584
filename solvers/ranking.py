"""Check, order and certify several states of each instance.

Backends may return the states of a `Ranking` in any order, and searches that a time limit ends may
return fewer states than requested. Code that needs the order or the worst of several states uses
this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .arrays import Scores, States
from .constraint_rows import Rows
from .errors import SolveFailedError
from .limits.deadline import Deadline
from .problems.problem import Problem
from .solution import Ranking, Solution
from .solver import ArgmaxSolver, CertifiedSolver, Maximisable

MISSING = -1
"""The values of a state that was not found, or that does not exist."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Checked and ordered states of a `Ranking`.

    Attributes:
        z: `[batch, states, n]` int8, all distinct, the best first.
        score: `[batch, states]`, falling: the last one is the lowest.
        others: `[batch]`, upper bounds on the scores of all other states; minus infinity if there
            are none.
        stats: counts of the backend.
        solver: the solver that proved the bounds, if it is not the backend.
    """

    z: States
    score: Scores
    others: Scores
    stats: Mapping[str, Any]
    solver: str

    @property
    def last(self) -> Scores:
        """The lowest score of each instance, `[batch]`."""
        return self.score[:, -1]


def ranked_states(
    solver: ArgmaxSolver, problem: Problem, count: int, deadline: Deadline | None = None
) -> Ranked | None:
    """Return several states of one search of a backend; None if it only finds one.

    Args:
        solver: the backend.
        problem: a problem on the host that the solver can take.
        count: number of states, at most 2^n.
        deadline: of the whole batch; None for none.

    Raises:
        SolveFailedError: the backend returned an impossible answer.
    """
    ranked = ranked_labels(solver, problem, count, deadline)
    if ranked is None:
        return None
    if states_of(problem.n, count + 1) == count:  # all states
        return replace(ranked, others=np.full(problem.batch, -math.inf))
    return ranked


def ranked_labels(
    solver: CertifiedSolver[Any], problem: Any, count: int, deadline: Deadline | None = None
) -> Ranked | None:
    """Return several assignments of one search; they need not be all that exist.

    Raises:
        SolveFailedError: the backend returned an impossible answer.
    """
    ranking = solver.best_states(problem, count, deadline or Deadline.after(None))
    if ranking is None:
        return None
    if ranking.z.ndim != 3 or ranking.z.shape[1] != count:
        raise SolveFailedError(
            f"solver '{solver.name}' returned states of the shape {tuple(ranking.z.shape)} instead "
            f"of {count} states of each instance. This is a fault of the solver; choose another one"
        )
    return _ranked(solver, problem, ranking)


def states_of(free: int, most: int) -> int:
    """Return the number of states of `free` variables, or `most` if they have more."""
    if free >= most.bit_length():
        return most
    return min(most, 1 << free)


def ranked_states_within(
    solver: CertifiedSolver[Any], problem: Any, constraints: Rows, count: int
) -> Ranked | None:
    """Return up to `count` feasible states of one search; None if the backend only finds one.

    Raises:
        SolveFailedError: the backend returned an impossible answer.
    """
    ranking = solver.best_states_within(problem, constraints, count)
    if ranking is None:
        return None
    return _ranked(solver, problem, ranking)


def _ranked(solver: CertifiedSolver[Any], problem: Any, ranking: Ranking) -> Ranked:
    batch = problem.batch
    count = ranking.z.shape[1]
    if not count:
        nothing = np.empty((batch, 0), np.float64)
        bound = np.full(batch, -math.inf)
        return Ranked(ranking.z, nothing, bound, ranking.stats, ranking.solver)
    columns = [
        solver._checked_states(problem, np.ascontiguousarray(ranking.z[:, k])) for k in range(count)
    ]
    states = np.stack(columns, axis=1)
    score = np.stack([solver._scores(problem, column) for column in columns], axis=1)
    order = np.argsort(-score, axis=1, kind="stable")
    states = np.take_along_axis(states, order[:, :, None], axis=1)
    score = np.take_along_axis(score, order, axis=1)
    _refuse_repeats(solver, states)
    others = _others(solver, problem, ranking, score[:, -1])
    return Ranked(states, score, others, ranking.stats, ranking.solver)


def _refuse_repeats(solver: CertifiedSolver[Any], states: States) -> None:
    """Raise a `SolveFailedError` if two states of an instance are equal."""
    for instance in np.flatnonzero(_may_repeat(states)).tolist():
        rows = states[instance]
        if len(np.unique(rows, axis=0)) < len(rows):
            raise SolveFailedError(
                f"solver '{solver.name}' returned one state of instance {instance} several times. "
                "This is a fault of the solver; choose another one"
            )


def _may_repeat(states: States) -> np.ndarray:
    """Return whether two states of each instance may be equal, `[batch]`.

    States whose codes differ are different. Few different states have equal codes.
    """
    factors = np.random.default_rng(0).integers(1, 2**63, states.shape[2], np.uint64)
    # einsum converts the states piece by piece, so it needs no copy of them in eight bytes each.
    codes = np.einsum("bkn,n->bk", states, factors, dtype=np.uint64, casting="unsafe")
    codes.sort(axis=1)
    return np.asarray((codes[:, 1:] == codes[:, :-1]).any(axis=1))


def _others(solver: CertifiedSolver[Any], problem: Any, ranking: Ranking, last: Scores) -> Scores:
    """Return the bounds on all other states `[batch]`; `last` after an exhaustive argument."""
    if ranking.others is None:
        return solver.bound_of_none(problem, last)
    if np.isnan(ranking.others).any():
        raise SolveFailedError(
            f"solver '{solver.name}' returned nan as the bound on other states. This is a fault of "
            "the solver, so its answers prove nothing; choose another one"
        )
    return np.asarray(ranking.others, np.float64)


def certified_ranking(
    problem: Maximisable,
    states: States,
    bounds: np.ndarray,
    solver: CertifiedSolver[Any],
    score: Callable[[States], Scores],
) -> Solution:
    """Score states again, order them, and certify each.

    Args:
        problem: a problem on the host.
        states: `[batch, count, n]`, all distinct, in any order; -1 for a missing state.
        bounds: `[batch, count]`, where `bounds[:, k]` holds for all states except the first k of
            `states`; falling, and minus infinity where there are no others.
        solver: the solver that found the states.
        score: returns the scores `[batch]` of states `[batch, n]`.

    Returns:
        The states by falling score. Each bound holds for all states except those before it, since
        later states score no more than the state at its place. The lowest of the bounds holds for
        the states that were not found. A missing state has the score minus infinity.
    """
    count = states.shape[1]
    missing = (states == MISSING).any(axis=2)
    scores = np.full(missing.shape, -math.inf)
    for k in range(count):
        # A missing state cannot be scored. Zeros replace it, and its score becomes -inf.
        column = np.where(missing[:, k, None], 0, states[:, k])
        scores[:, k] = np.where(missing[:, k], -math.inf, score(np.ascontiguousarray(column)))
    others = _bound_of_unfound(bounds, missing)
    # Order before certifying, since a bound holds for all states except those before it.
    order = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, order, axis=1)
    states = np.take_along_axis(states, order[:, :, None], axis=1)
    # Below the score, a bound is only rounded.
    bounds = np.maximum(np.minimum.accumulate(bounds, axis=1), scores)
    bounds = np.minimum(bounds, np.maximum(others[:, None], scores))
    bounds = np.where(problem.tolerance[:, None] < 0, bounds + problem.rounding[:, None], bounds)
    none_left = bounds == -math.inf
    # The difference of two infinities would be NaN.
    gaps = np.where(none_left, 0.0, bounds) - np.where(none_left, 0.0, scores)
    proved = ((gaps <= problem.tolerance[:, None]) | none_left) & solver.capabilities.exact
    return Solution(
        z=problem.restore(states),
        score=problem.restore(scores),
        optimal=problem.restore(proved),
        bound=problem.restore(bounds),
        solver=solver.name,
        stats={"states": count},
    )


def _bound_of_unfound(bounds: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return bounds on the scores of all states that are not among the given ones, `[batch]`.

    A bound for all states but the first k holds for them if none of these k is missing.

    Args:
        bounds: `[batch, count]`, as `certified_ranking` takes them.
        missing: `[batch, count]`, whether a state is missing.
    """
    missing_before = np.cumsum(missing, axis=1) - missing
    return np.asarray(np.where(missing_before == 0, bounds, math.inf).min(axis=1))


def filled(states: States, bounds: np.ndarray, count: int) -> tuple[States, np.ndarray]:
    """Return states `[..., count, n]` and bounds `[..., count]`, with rows for missing states.

    Args:
        states: `[..., states, n]`, all that exist if they are fewer than `count`.
        bounds: `[..., states]`.
        count: number of rows to return.
    """
    if bounds.shape[-1] == count:
        return states, bounds
    rows = [(0, 0)] * (bounds.ndim - 1) + [(0, count - bounds.shape[-1])]
    return (
        np.pad(states, [*rows, (0, 0)], constant_values=MISSING),
        np.pad(bounds, rows, constant_values=-math.inf),
    )


def each_found(solution: Solution[np.ndarray]) -> list[Solution[np.ndarray]]:
    """Return the states of a single instance one by one, fewer than the rows if no more exist.

    Raises:
        SolveFailedError: the time limit ended the search before it had all states.
    """
    columns = (solution.z, solution.score, solution.optimal, solution.bound)
    rows = []
    for k in range(len(solution.z)):
        z, score, optimal, bound = (array[k, ...] for array in columns)
        one = Solution(z, score, optimal, bound, solution.solver, solution.stats, solution.seconds)
        rows.append(one)
    present = [row for row in rows if row.score > -math.inf]
    if len(present) < len(rows) and rows[-1].bound > -math.inf:
        raise SolveFailedError(
            f"solver '{solution.solver}' found {len(present)} of {len(rows)} states in its time; "
            f"raise time_limit or lower k_best to {len(present)}, or solve the `.problem` of this "
            "conversion, which returns the states so far"
        )
    return present
