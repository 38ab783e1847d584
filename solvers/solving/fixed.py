"""Base of problems in which some variables have fixed values, for bits and for labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ..arrays import Scores, States
from ..limits.progress import Known
from ..solution import Solution

ProblemT = TypeVar("ProblemT", bound=Any)


@dataclass(frozen=True, eq=False)
class Fixed(ABC, Generic[ProblemT]):
    """A problem in which some variables have fixed values, and the problem that is searched.

    A kind may remove fixed variables from the searched problem. By default it keeps them, so
    states and bounds of `rest` are those of `problem`.

    Attributes:
        problem: the whole problem.
        rest: the problem of the free variables; None if all variables are removed.
    """

    problem: ProblemT
    rest: Any

    @abstractmethod
    def instance(self, number: int) -> Fixed[ProblemT]:
        """Return one instance of the batch, on the host."""

    def free(self, z: States) -> States:
        """Return the values `[batch, free]` of the variables of `rest` in states `[batch, n]`."""
        return z

    def whole(self, z: States) -> States:
        """Return whole states `[batch, count, n]` from states `[batch, count, free]` of `rest`."""
        return z

    def raised(self, bound: Scores) -> Scores:
        """Return bounds `[batch]` on the whole problem, from bounds on `rest`."""
        return bound

    def states(self, most: int) -> int:
        """Return the maximum number of states of `rest`, or `most` if that is less or unknown."""
        return most

    def known(self, incumbent: Known) -> Known:
        """Return the incumbent and bound of the whole problem, from those of `rest`."""
        return incumbent

    def lifted(self, solution: Solution | None) -> Solution:
        """Return the solution of the whole problem, from that of `rest` (None without a rest)."""
        # A kind that keeps all variables always has a rest.
        return cast("Solution", solution)
