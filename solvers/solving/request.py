"""Request of a caller, as one object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..constraint_rows import Rows
from ..limits.deadline import Deadline
from ..solver import CertifiedSolver
from .kinds import Kind, kind_of


@dataclass(frozen=True, eq=False, init=False)
class Request:
    """A problem, and the options of its solution.

    Attributes:
        problem: a problem of any kind.
        solver: a name, a solver object or "auto".
        deadline: time at which the search ends; made once, at the start of the call.
        fix: variables that keep a value, as the kind of the problem reads them; None for none.
        start: initial states; None for none.
        k: number of states to return; None for a single state without a dimension for them.
        rows: constraints; None for none.
        kind: the kind of the problem.
    """

    problem: Any
    solver: str | CertifiedSolver[Any]
    deadline: Deadline
    fix: Any = None
    start: Any = None
    k: int | None = None
    rows: Rows | None = None
    kind: Kind[Any] = field(init=False)

    def __init__(
        self,
        problem: Any,
        solver: str | CertifiedSolver[Any],
        deadline: Deadline,
        fix: Any = None,
        start: Any = None,
        k: int | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Keep the request of a caller."""
        fields = self.__dict__  # setting attributes takes three times as long
        fields["problem"] = problem
        fields["solver"] = solver
        fields["deadline"] = deadline
        if fix is not None:  # the class has None
            fields["fix"] = fix
        if start is not None:
            fields["start"] = start
        if k is not None:
            fields["k"] = k
        if rows is not None:
            fields["rows"] = rows
        fields["kind"] = kind_of(problem)
