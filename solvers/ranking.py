"""Several states of each instance: the one place where they are checked, put in order and certified.

Backends may return the states of a `Ranking` in any order, and searches that a time limit ends may
find fewer than were asked for. Whoever needs the order or the worst of several states takes them
from here.
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
from .problem import Problem
from .solution import Ranking, Solution
from .solver import ArgmaxSolver, CertifiedSolver, Maximisable, score_states

MISSING = -1
"""The values of a state that was not found, or that does not exist."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The states of a `Ranking`, checked and in order.

    Attributes:
        z: `[batch, found, n]` int8, no state twice, the best first.
        score: `[batch, found]`, falling: the last one is the lowest.
        others: `[batch]`, an upper bound on the scores of all other states; minus infinity where
            there are none.
        stats: as the backend counted.
        solver: who proved it, where that is not the backend itself.
    """

    z: States
    score: Scores
    others: Scores
    stats: Mapping[str, Any]
    solver: str

    @property
    def last(self) -> Scores:
        """`[batch]`: the lowest score of each instance."""
        return self.score[:, -1]


def ranked_states(
    solver: ArgmaxSolver, problem: Problem, count: int, time_limit: float | None = None
) -> Ranked | None:
    """Ask a backend for several states at once; None if it finds only one.

    Args:
        solver: the backend.
        problem: on the host, that the solver can take.
        count: at most 2^n.
        time_limit: seconds for the whole batch.

    Raises:
        SolveFailedError: the backend returned what cannot be.
    """
    found = solver.best_states(problem, count, time_limit)
    if found is None:
        return None
    if found.z.ndim != 3 or found.z.shape[1] != count:
        raise SolveFailedError(
            f"solver '{solver.name}' returned states of the shape {tuple(found.z.shape)} where {count} of each "
            "instance were asked for: its fault"
        )
    ranked = _ranked(solver, problem, found)
    if states_of(problem.n, count + 1) == count:  # all of them
        return replace(ranked, others=np.full(problem.batch, -math.inf))
    return ranked


def states_of(free: int, most: int) -> int:
    """Return how many states `free` variables have, or `most` where they have more."""
    return most if free >= most.bit_length() else min(most, 1 << free)


def ranked_states_within(
    solver: ArgmaxSolver, problem: Problem, constraints: Rows, count: int
) -> Ranked | None:
    """Ask a backend for up to `count` states that satisfy constraints; None if it finds only one.

    Raises:
        SolveFailedError: the backend returned what cannot be.
    """
    found = solver.best_states_within(problem, constraints, count)
    return None if found is None else _ranked(solver, problem, found)


def _ranked(solver: ArgmaxSolver, problem: Problem, found: Ranking) -> Ranked:
    batch = problem.batch
    count = found.z.shape[1]
    if not count:
        nothing = np.empty((batch, 0), np.float64)
        return Ranked(found.z, nothing, np.full(batch, -math.inf), found.stats, found.solver)
    columns = [
        solver._checked_states(problem, np.ascontiguousarray(found.z[:, k])) for k in range(count)
    ]
    states = np.stack(columns, axis=1)
    score = np.stack([score_states(problem, column) for column in columns], axis=1)
    order = np.argsort(-score, axis=1, kind="stable")
    states = np.take_along_axis(states, order[:, :, None], axis=1)
    score = np.take_along_axis(score, order, axis=1)
    _refuse_repeats(solver, states)
    return Ranked(
        states, score, _others(solver, problem, found, score[:, -1]), found.stats, found.solver
    )


def _refuse_repeats(solver: ArgmaxSolver, states: States) -> None:
    codes = np.packbits(states.astype(bool), axis=2)
    for instance, rows in enumerate(codes):
        if len(np.unique(rows, axis=0)) < len(rows):
            raise SolveFailedError(
                f"solver '{solver.name}' returned one state of instance {instance} several times: its fault"
            )


def _others(solver: ArgmaxSolver, problem: Problem, found: Ranking, last: Scores) -> Scores:
    """`[batch]`: the bound on all other states; that of an exhaustive argument is the lowest score that it found."""
    if found.others is None:
        return solver.bound_of_none(problem, last)
    if np.isnan(found.others).any():
        raise SolveFailedError(
            f"solver '{solver.name}' returned nan for the bound on other states: its fault, whose answers prove "
            "nothing. Take another one"
        )
    return np.asarray(found.others, np.float64)


def certified_ranking(
    problem: Maximisable,
    states: States,
    bounds: np.ndarray,
    solver: CertifiedSolver[Any],
    score: Callable[[States], Scores],
) -> Solution:
    """Score states anew, put them in order and certify each.

    Args:
        problem: on the host.
        states: `[batch, count, n]`, in any order, no state twice; -1 for a state that was not
            found.
        bounds: `[batch, count]`, where `bounds[:, k]` holds for all states but the first k of
            `states`; falling, and minus infinity where there are no others.
        solver: who found them.
        score: of states `[batch, n]`.

    Returns:
        The states by falling score. A bound still holds for all states but those before it: those
        that come later in the order score no more than the state at its place. A missing state has
        the score minus infinity.
    """
    count = states.shape[1]
    missing = (states == MISSING).any(axis=2)
    scores = np.full(missing.shape, -math.inf)
    for k in range(count):
        column = np.where(missing[:, k, None], 0, states[:, k])
        scores[:, k] = np.where(missing[:, k], -math.inf, score(np.ascontiguousarray(column)))
    order = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, order, axis=1)
    states = np.take_along_axis(states, order[:, :, None], axis=1)
    bounds = np.maximum(np.minimum.accumulate(bounds, axis=1), scores)
    bounds = np.where(problem.tolerance[:, None] < 0, bounds + problem.rounding[:, None], bounds)
    none_left = bounds == -math.inf
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


def filled(states: States, bounds: np.ndarray, count: int) -> tuple[States, np.ndarray]:
    """States `[..., count, n]` and bounds `[..., count]`, with those at the end that do not exist.

    Args:
        states: `[..., found, n]`, all that there are if they are fewer than `count`.
        bounds: `[..., found]`.
        count: how many rows there shall be.
    """
    rows = [(0, 0)] * (bounds.ndim - 1) + [(0, count - bounds.shape[-1])]
    return (
        np.pad(states, [*rows, (0, 0)], constant_values=MISSING),
        np.pad(bounds, rows, constant_values=-math.inf),
    )


def each_found(solution: Solution[np.ndarray]) -> list[Solution[np.ndarray]]:
    """Return the states of a single instance one by one; they are fewer than the rows only if there are no more.

    Raises:
        SolveFailedError: the time was up before so many states were found.
    """
    parts = list(zip(solution.z, solution.score, solution.optimal, solution.bound, strict=True))
    rows = [Solution(*part, solution.solver, solution.stats) for part in parts]
    found = [row for row in rows if row.score > -math.inf]
    if len(found) < len(rows) and rows[-1].bound > -math.inf:
        raise SolveFailedError(
            f"solver '{solution.solver}' found {len(found)} of {len(rows)} states in its time; raise time_limit or "
            f"lower k_best to {len(found)}, or solve the `.problem` of this conversion, which returns what was found"
        )
    return found
