"""Solve one instance in several runs, each of which resumes the search of the last one.

A portfolio runs other backends in between.
"""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .limits.deadline import Deadline
from .problems.problem import Problem
from .problems.starts import given_states
from .solution import Maximiser
from .solver import ArgmaxSolver


class Search(Protocol):
    """A search for the best state of one instance that can be stopped and resumed."""

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best state so far."""

    @property
    def score_bound(self) -> float:
        """An upper bound on all scores."""

    @property
    def seconds_left(self) -> float:
        """Estimated seconds until an optimality certificate; infinite if that is unknown."""

    def offer(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it is better than the best one."""


SearchT = TypeVar("SearchT", bound=Search)


@dataclass(eq=False)
class Runs(Generic[SearchT]):
    """The search that several runs share. A copied or unpickled object begins a new search.

    Attributes:
        search: None before the first run.
        problem: the problem of the search; None before the first run.
        lock: held during a run, because two threads must not change one search at a time.
    """

    search: SearchT | None = None
    problem: Problem | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[type[Runs[SearchT]], tuple[()]]:
        """Leave out the search."""
        return Runs, ()

    def is_of(self, problem: Problem) -> bool:
        """Return whether a problem is that of the search, or none has begun."""
        mine = self.problem
        if mine is None or mine is problem:
            return True
        return (
            np.array_equal(mine.edges, problem.edges)
            and np.array_equal(mine.unary, problem.unary)
            and np.array_equal(mine.pairwise, problem.pairwise)
        )


@dataclass(frozen=True)
class PausedSolver(ArgmaxSolver, Generic[SearchT]):
    """Base class of solvers of one instance whose runs resume each other.

    A backend gives one by its method `paused`. It does not reduce the instance, and no local search
    follows: a portfolio does both for all of its backends.

    Attributes:
        start: an assignment `[..., n]` that a run offers to the search; None for none.
        runs: the search, which the first run begins.
    """

    start: Any = field(default=None, compare=False)
    runs: Runs[SearchT] = field(default_factory=Runs, compare=False, repr=False)

    @property
    def seconds_left(self) -> float:
        """Estimated seconds until an optimality certificate; infinite if that is unknown."""
        if self.runs.search is None:
            return math.inf
        return self.runs.search.seconds_left

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Return reasons: several instances, or another one than that of the search."""
        reasons = super().why_not(problem)
        if problem.batch != 1:
            return (*reasons, f"the batch has {problem.batch} instances and it takes one")
        if not self.runs.is_of(problem):
            return (*reasons, "its search is that of another problem; take a new solver")
        return reasons

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        with self.runs.lock:
            return self._run(problem, deadline)

    def _run(self, problem: Problem, deadline: Deadline) -> Maximiser:
        """Begin or resume the search."""
        start = None
        states = given_states(self.start, problem)
        if states is not None:
            start = states[0]
        search = self.runs.search
        if search is None:
            search = self._begun(problem, deadline, start)
            if search is None:
                return self._without_search(problem, deadline, start)
            self.runs.search = search
            self.runs.problem = problem
        elif start is not None:
            search.offer(start)
        self._resume(search, deadline)
        return Maximiser(search.z[None], np.array([search.score_bound]))

    @abstractmethod
    def _begun(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> SearchT | None:
        """Return a search of an instance; None if there is no time for it."""

    @abstractmethod
    def _resume(self, search: SearchT, deadline: Deadline) -> None:
        """Search until an optimality certificate, or the end of the run."""

    @abstractmethod
    def _without_search(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> Maximiser:
        """Return an answer in so little time that no search begins."""
