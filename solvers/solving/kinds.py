"""Interface between the front end and a kind of problem.

Bits and labels each implement it in their own file.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from ..arrays import Scores, States
from ..constraint_rows import Rows
from ..kept import kept
from ..limits.deadline import Deadline
from ..limits.progress import Known
from ..problems.any_problem import AnyProblem
from ..problems.problem import check_problem
from ..ranking import Ranked
from ..registry import Registry, registry_of
from ..solution import Solution
from ..solver import CertifiedSolver

KINDS = {"bits": "solvers.solving.bits:BITS", "labels": "solvers.labels.kind:LABELLED"}
"""Where each kind answers; imported when a problem of that kind is solved."""

SolverT = TypeVar("SolverT", bound=CertifiedSolver[Any])
ProblemT = TypeVar("ProblemT", bound=Any)

Choose: TypeAlias = Callable[[Any], CertifiedSolver[Any]]
"""The solver for a problem, of which some variables may be fixed."""


@dataclass(frozen=True)
class Selection(Generic[SolverT]):
    """The solver that `auto` picks for a problem, with its reason.

    Attributes:
        solver: ready to use.
        reason: one sentence.
    """

    solver: SolverT
    reason: str


class Fixed(Protocol):
    """A problem some of whose variables keep a value, whatever its kind."""

    @property
    def problem(self) -> Any:
        """The whole one, on the host."""

    @property
    def rest(self) -> Any:
        """The problem that is left to solve; None where all variables have a value."""

    def instance(self, number: int) -> Fixed:
        """One of the batch, by itself."""

    def free(self, z: States) -> States:
        """`[batch, free]`: what states `[batch, n]` say of the variables of `rest`."""

    def whole(self, z: States) -> States:
        """`[batch, count, n]`: states of the whole problem, by `[batch, count, free]` of `rest`."""

    def raised(self, bound: Scores) -> Scores:
        """`[batch]`: a bound on the whole problem, by one on `rest`."""

    def states(self, most: int) -> int:
        """How many states `rest` may have; `most` where there may be more."""

    def known(self, incumbent: Known) -> Known:
        """Return what is known of the whole problem, from what is known of `rest`."""

    def lifted(self, solution: Solution | None) -> Solution:
        """The solution of the whole problem, by that of `rest`; None where there is none."""


class Exclusion(Protocol):
    """States one after the other, each excluded from then on."""

    def ranked(self, fixed: Any, count: int, number: int) -> tuple[States, np.ndarray]:
        """Return the best states `[count, n]` of one instance of a batch, with bounds `[count]`.

        Each bound holds for all states but those before it.
        """

    def unsearched(self, fixed: Any, rows: np.ndarray, count: int) -> tuple[States, np.ndarray]:
        """Return states `[rows, count, n]` for which there was no time, with bounds.

        The bounds are `[rows, count]`, on all states.
        """


class Kind(ABC, Generic[ProblemT]):
    """What the front end asks of a kind of problem.

    Attributes:
        name: "bits" or "labels", as problems and solvers name it.
        state_type: of the integers in states.
    """

    name: ClassVar[str]
    state_type: type

    def is_chosen_at_once(self, problem: ProblemT) -> bool:
        """Whether the choice of a solver takes so little time that no limit is worth watching."""
        return False

    @kept
    def registry(self) -> Registry[Any]:
        """The solvers of the kind."""
        return registry_of(self.name)

    def named(self, solver: Any) -> CertifiedSolver[Any] | None:
        """Return the solver that `solver` means for every problem; None for "auto".

        Raises:
            UnknownSolverError: no solver has that name.
        """
        return self.registry.named(solver)

    @abstractmethod
    def select(self, problem: ProblemT) -> Selection[Any]:
        """Return what `auto` takes for a problem."""

    def select_ranking(self, problem: ProblemT) -> Selection[Any]:
        """Return what `auto` takes for several of the best states of a problem."""
        return self.select(problem)

    @abstractmethod
    def select_within(self, problem: ProblemT, rows: Rows, count: int) -> Selection[Any]:
        """Return what `auto` takes for the best states that satisfy constraints."""

    @abstractmethod
    def fixed(self, problem: ProblemT, fix: Any) -> Fixed:
        """Return the problem with some variables fixed.

        Raises:
            OptionError: `fix` does not fit the problem.
        """

    @abstractmethod
    def states(self, start: Any, problem: ProblemT) -> States | None:
        """Return the caller's states `[batch, n]`; None if there are none.

        Raises:
            OptionError: they are no states of the problem.
        """

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
            OptionError: they are none, or name what the problem does not have.
        """

    @abstractmethod
    def within(self, problem: ProblemT, rows: Rows, fix: Any) -> tuple[ProblemT, Rows]:
        """Return a problem and constraints that say that variables keep their values, too."""

    @abstractmethod
    def neighbours(self, problem: ProblemT, z: np.ndarray) -> States:
        """Return states `[others, n]` near one `[n]`, for when time is up."""

    @abstractmethod
    def ranked(
        self, solver: Any, problem: ProblemT, count: int, deadline: Deadline | None
    ) -> Ranked | None:
        """Return several states that a solver finds at once; None where it finds one alone."""

    @abstractmethod
    def exclusion(self, choose: Choose, deadline: Deadline) -> Exclusion:
        """Return the search that excludes one state after the other."""


def kind_of(problem: AnyProblem) -> Kind[Any]:
    """Return what answers for the kind of a problem."""
    return _kind(problem.kind)


@cache
def _kind(name: str) -> Kind[Any]:
    module, _, attribute = KINDS[name].partition(":")
    kind: Kind[Any] = getattr(importlib.import_module(module), attribute)
    return kind


def check_any_problem(problem: object) -> None:
    """Raise a ProblemError if `problem` is not a problem of any kind."""
    if not isinstance(problem, AnyProblem):
        check_problem(problem)
