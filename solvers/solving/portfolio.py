"""Run several backends on a problem in turn, until every instance is proved.

The kind of the problem decides which backends run: `sparse` for bits, and `labels.messages_first`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ..arrays import Scores, States
from ..errors import SolveFailedError
from ..limits.deadline import Deadline
from ..solution import Maximiser, Solution
from ..solver import Capabilities, CertifiedSolver, ProblemT

CUT_SHARE = 0.3
"""Maximum share of the remaining time for any run but the last."""

SEPARATOR = " + "
"""Separator between the names of solvers that proved an answer together."""


SolverT = TypeVar("SolverT", bound=CertifiedSolver[Any], covariant=True)


class Turn(NamedTuple, Generic[SolverT]):
    """Run of a backend on a problem.

    Attributes:
        solver: a solver that is ready to use.
        seconds: maximum time of the run; infinite for all of the remaining time.
        leading: whether it only runs on instances whose lowest bound so far it found itself.
        least_gap: it only runs on instances whose gap so far is at least this share of the
            magnitude of their scores.
        most_gap: it only runs on instances whose gap so far is at most this share.
        may_fail: whether the next backend runs if this one finds no state.
    """

    solver: SolverT
    seconds: float = math.inf
    leading: bool = False
    least_gap: float = 0.0
    most_gap: float = math.inf
    may_fail: bool = False

    def deadline(self, whole: Deadline) -> Deadline:
        """Return the deadline of this run, from the deadline of the whole problem."""
        if self.seconds == math.inf:
            return whole
        return whole.within(min(self.seconds, CUT_SHARE * whole.left))

    def ready(self, start: States | None) -> CertifiedSolver[Any]:
        """Return the solver, which starts from the given states if it can."""
        if start is None or "start" not in self.solver.options():
            return self.solver
        return self.solver.with_options(start=start)


@dataclass(eq=False)
class Ledger:
    """Counts of what each backend did, over all instances of a batch and all their parts.

    Attributes:
        turns: how many problems each backend tried.
        bounds: how many of the lowest bounds it found; the lowest bound of a solved problem proves
            it.
        states: how many of the best states it found.
    """

    turns: Counter[str] = field(default_factory=Counter)
    bounds: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)

    @classmethod
    def total(cls, ledgers: Iterable[Ledger]) -> Ledger:
        """Return the sum of ledgers."""
        whole = cls()
        for ledger in ledgers:
            whole.turns.update(ledger.turns)
            whole.bounds.update(ledger.bounds)
            whole.states.update(ledger.states)
        return whole

    @property
    def solver(self) -> str:
        """Names of the backends that gave a bound; `presolve` if presolve solved every part."""
        names = sorted(self.bounds, key=lambda name: -self.bounds[name])
        return SEPARATOR.join(names) or "presolve"

    @property
    def stats(self) -> Mapping[str, int]:
        """All counts by name."""
        kinds = {"turns": self.turns, "bounds": self.bounds, "states": self.states}
        return {
            f"{kind}_{name}": count
            for kind, counts in kinds.items()
            for name, count in counts.items()
        }


class Standing:
    """The best states and lowest bounds of a batch so far, with the backends that found them.

    Attributes:
        z: `[batch, n]`.
        score: `[batch]`.
        bound: `[batch]`.
        found_by: `[batch]`, the backend of each state.
        proved_by: `[batch]`, the backend of each bound.
        stats: `stats` of the last solution.
    """

    def __init__(self, first: Solution, name: str) -> None:
        """Start with the first solution of the whole batch."""
        self.z: States = first.z.copy()
        self.score: Scores = first.score.copy()
        self.bound: Scores = first.bound.copy()
        self.found_by = np.full(len(first.z), name, object)
        self.proved_by = self.found_by.copy()
        self.stats = first.stats

    def improve(self, rows: np.ndarray, solution: Solution, name: str) -> None:
        """Take the better states and bounds of a solution for some rows of the batch."""
        better = solution.score > self.score[rows]
        improved = rows[better]
        self.z[improved] = solution.z[better]
        self.score[improved] = solution.score[better]
        self.found_by[improved] = name
        # State and bound may come from different backends, so each has its own name.
        lower = solution.bound < self.bound[rows]
        tightened = rows[lower]
        self.bound[tightened] = solution.bound[lower]
        self.proved_by[tightened] = name
        self.stats = solution.stats


class Outcome(NamedTuple):
    """Combined result of the backends that ran on a problem.

    Attributes:
        z: `[batch, n]`, the best states.
        bound: `[batch]`, the lowest bounds.
        stats: `stats` of the last backend.
        ledger: counts of what each backend did.
    """

    z: States
    bound: Scores
    stats: Mapping[str, Any]
    ledger: Ledger


Search: TypeAlias = Callable[[Any, Deadline, States | None], Outcome]
"""Solves a problem before a deadline, from initial states `[batch, n]` or None."""


def _rows_of(
    turn: Turn[Any], problem: Any, unproved: np.ndarray, standing: Standing | None
) -> np.ndarray:
    """Return the instances that a backend runs on."""
    rows = unproved
    if standing is None:
        return rows
    if turn.leading:
        # It only runs again on instances for which it found the best bound so far.
        rows = rows[standing.proved_by[rows] == turn.solver.name]
    gap = standing.bound - standing.score
    if turn.least_gap:
        rows = rows[gap[rows] >= turn.least_gap * problem.magnitude[rows]]
    if turn.most_gap < math.inf:
        rows = rows[gap[rows] <= turn.most_gap * problem.magnitude[rows]]
    return rows


def in_turn(
    problem: Any, turns: Iterable[Turn[Any]], deadline: Deadline, start: States | None = None
) -> Outcome:
    """Run backends on a problem one after the other, each on the instances that are still open.

    Args:
        problem: a problem of any kind, on the host, with one leading dimension.
        turns: the backends in order; the next one is requested when the last one has ended.
        deadline: time at which all searches end.
        start: `[batch, n]`, states to start from.

    Raises:
        SolveFailedError: no backend found a state of every instance.
    """
    ledger = Ledger()
    standing: Standing | None = None
    failure = SolveFailedError("no backend took the problem")
    unproved = np.arange(problem.batch)
    for turn in turns:
        name = turn.solver.name
        rows = _rows_of(turn, problem, unproved, standing)
        if not len(rows):
            continue
        if len(rows) == problem.batch:
            batch = problem
        else:
            batch = problem.instances(rows)
        states = start
        # Every backend starts from the best states so far.
        if standing is not None:
            states = standing.z[rows]
        ledger.turns[name] += len(rows)
        try:
            solution = turn.ready(states).solve_until(batch, turn.deadline(deadline))
        except SolveFailedError as error:
            if not turn.may_fail:
                raise
            failure = error
            continue
        if standing is None:
            standing = Standing(solution, name)
        else:
            standing.improve(rows, solution, name)
        # The bound equals the score up to rounding, which proves the state.
        unproved = np.flatnonzero(standing.bound - standing.score > problem.rounding)
        if not len(unproved) or deadline.passed:
            break
    if standing is None:
        raise failure
    ledger.bounds.update(standing.proved_by)
    ledger.states.update(standing.found_by)
    return Outcome(standing.z, standing.bound, standing.stats, ledger)


@dataclass(frozen=True)
class Portfolio(CertifiedSolver[ProblemT]):
    """Solver that runs several backends in turn.

    `Solution.solver` names the backends that proved the answer. For each backend, `stats` counts
    the problems that it tried (`turns_`), and how many bounds (`bounds_`) and states (`states_`) it
    gave.

    Attributes:
        start: initial states `[..., n]`, which broadcast to the batch; None if the backends choose
            them.
    """

    start: Any = field(default=None, compare=False)

    name = "portfolio"
    capabilities = Capabilities(exact=True, time_limit=True)

    @abstractmethod
    def turns(self, problem: ProblemT, deadline: Deadline) -> Iterator[Turn[Any]]:
        """Yield the backends that run on a problem, or on a part of it, until one has proved it."""

    @abstractmethod
    def _searched(self, problem: ProblemT, deadline: Deadline, search: Search) -> Maximiser:
        """Search a problem as a whole or part by part, and return its outcome."""

    def _argmax(self, problem: ProblemT, deadline: Deadline) -> Maximiser:
        ledgers: list[Ledger] = []

        def search(subproblem: ProblemT, until: Deadline, start: States | None) -> Outcome:
            outcome = in_turn(subproblem, self.turns(subproblem, until), until, start)
            ledgers.append(outcome.ledger)
            return outcome

        maximiser = self._searched(problem, deadline, search)
        total = Ledger.total(ledgers)
        return replace(maximiser, stats={**maximiser.stats, **total.stats}, solver=total.solver)
