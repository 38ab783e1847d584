"""Interface between the front end and a kind of problem.

Bits and labels each implement it in their own file.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..arrays import Scores, States
from ..constraint_rows import Rows
from ..kept import kept
from ..limits.deadline import Deadline
from ..problems.any_problem import AnyProblem, check_kind
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..ranking import Ranked
from ..registry import Registry, registry_of
from ..solver import CertifiedSolver
from .exclusion import Choose, Exclusion
from .fixed import Fixed

KINDS = {"bits": "solvers.solving.bits.kind:BITS", "labels": "solvers.labels.kind:LABELLED"}
"""The module of each kind, imported when a problem of that kind is solved."""

SolverT = TypeVar("SolverT", bound=CertifiedSolver[Any])
ProblemT = TypeVar("ProblemT", bound=Any)


@dataclass(frozen=True)
class Selection(Generic[SolverT]):
    """The solver that `auto` picks for a problem, with its reason.

    Attributes:
        solver: a solver that is ready to use.
        reason: one sentence.
    """

    solver: SolverT
    reason: str


class Kind(ABC, Generic[ProblemT]):
    """Kind of problems, with the methods that the front end needs.

    Attributes:
        name: "bits" or "labels", the name that problems and solvers use.
        state_type: the type of the integers in states.
    """

    name: ClassVar[str]
    state_type: type[np.generic]

    def is_chosen_at_once(self, problem: ProblemT) -> bool:
        """Return whether a solver is chosen so quickly that the time limit need not be checked."""
        return False

    @kept
    def registry(self) -> Registry[Any]:
        """Return the registry of the solvers of the kind."""
        return registry_of(self.name)

    def named(self, solver: Any) -> CertifiedSolver[Any] | None:
        """Return the solver that `solver` means for every problem; None for "auto".

        Raises:
            UnknownSolverError: no solver has that name.
        """
        return self.registry.named(solver)

    @abstractmethod
    def select(self, problem: ProblemT) -> Selection[Any]:
        """Return the solver that `auto` uses for a problem."""

    def select_ranking(self, problem: ProblemT) -> Selection[Any]:
        """Return the solver that `auto` uses for several of the best states of a problem."""
        return self.select(problem)

    @abstractmethod
    def select_within(self, problem: ProblemT, rows: Rows, count: int) -> Selection[Any]:
        """Return the solver that `auto` uses for the best states that satisfy constraints."""

    @abstractmethod
    def fixed(self, problem: ProblemT, fix: Any) -> Fixed[ProblemT]:
        """Return the problem with some variables fixed.

        Raises:
            OptionError: `fix` does not fit the problem.
        """

    def groups(self, problem: ProblemT, fix: Any, has_rows: bool) -> list[np.ndarray]:
        """Return groups of instances, by number, that one search within constraints can take.

        Raises:
            OptionError: `fix` does not fit the problem.
        """
        return [np.arange(problem.batch)]

    def states(self, start: Any, problem: ProblemT) -> States | None:
        """Return the caller's states `[batch, n]`; None if there are none.

        Raises:
            OptionError: the arrays are not states of the problem.
        """
        return given_states(start, problem, self.state_type)

    @abstractmethod
    def score(self, problem: ProblemT, z: States) -> Scores:
        """Return the scores `[batch]` of states of a problem on the host."""

    @abstractmethod
    def first(self, problem: ProblemT, fix: Any, states: States | None) -> States | None:
        """Return states `[batch, n]` that are available before any search; None without any."""

    @abstractmethod
    def rows(self, constraints: Any, problem: ProblemT) -> Rows:
        """Return constraints over the columns of a problem.

        Raises:
            OptionError: an item is not a constraint, or names a column that does not exist.
        """

    @abstractmethod
    def within(self, problem: ProblemT, rows: Rows, fix: Any) -> tuple[ProblemT, Rows]:
        """Return a problem and constraints in which fixed variables keep their values."""

    @abstractmethod
    def neighbours(self, problem: ProblemT, z: np.ndarray) -> States:
        """Return states `[others, n]` near a state `[n]`, for use after the time limit."""

    @abstractmethod
    def ranked(
        self, solver: Any, problem: ProblemT, count: int, deadline: Deadline | None
    ) -> Ranked | None:
        """Return several states that a solver finds in one search; None if it only finds one."""

    @abstractmethod
    def exclusion(self, choose: Choose, deadline: Deadline) -> Exclusion:
        """Return the search that excludes one state after the other."""


def kind_of(problem: AnyProblem) -> Kind[Any]:
    """Return the kind of a problem."""
    return _kind(problem.kind)


@cache
def _kind(name: str) -> Kind[Any]:
    module, _, attribute = KINDS[name].partition(":")
    kind: Kind[Any] = getattr(importlib.import_module(module), attribute)
    return kind


def check_any_problem(problem: object) -> None:
    """Raise a ProblemError if `problem` is not a problem of any kind."""
    if not isinstance(problem, AnyProblem):
        check_kind(problem, Problem)
