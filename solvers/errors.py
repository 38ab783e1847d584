"""Define the errors of this package: each derives from `SolverError` and a matching builtin."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any


def shortened(value: object) -> str:
    """Return a value as a message can show it, whatever it is and however long."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # an integer of more digits than Python writes
        return f"{type(value).__name__} of too many digits to show"


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """Return the hint "did you mean 'x'? " for a misspelt name; empty where no name is near.

    Example:
        >>> did_you_mean("appel", ["apple", "pear"])
        "did you mean 'apple'? "
    """
    if not isinstance(name, str):
        return ""
    words = [word for word in names if isinstance(word, str)]
    near = difflib.get_close_matches(name, words, n=1)
    if near:
        return f"did you mean {shortened(near[0])}? "
    return ""


class SolverError(Exception):
    """Base of every error that the solvers raise on purpose."""


class ProblemError(SolverError, ValueError):
    """The arrays have a wrong shape or wrong values, so they do not describe a problem."""


class ProblemTooLargeError(SolverError, MemoryError):
    """The problem needs more memory than is free."""


class OptionError(SolverError, ValueError):
    """An option of a solver has a value outside its range."""


class UnknownSolverError(SolverError, LookupError):
    """No solver is registered under that name."""


class SolverUnavailableError(SolverError, ImportError):
    """The solver exists but a package that it needs is not installed."""


class TimeLimitError(SolverError, TimeoutError):
    """The time limit has passed, and there is no result: exact sums have none before they end."""


class SolveFailedError(SolverError, RuntimeError):
    """The backend of a solver stopped without an answer."""


class InfeasibleError(SolverError, ValueError):
    """No state satisfies the constraints, and this is proved.

    Attributes:
        constraints: their names; empty where only scores of minus infinity forbid states.
    """

    def __init__(self, constraints: tuple[str, ...] = ()):
        self.constraints = constraints
        if constraints:
            message = (
                f"no state satisfies all of the constraints {', '.join(constraints)}; solve "
                "without one of them to find out which is too strict"
            )
        else:
            message = "no assignment is allowed: each one has a score of minus infinity"
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.constraints,)


class UnsupportedProblemError(SolverError, ValueError):
    """A solver cannot take a problem, for example because of its size, signs or constraints.

    Attributes:
        solver: registry name of the solver that was asked.
        reasons: the reasons, one sentence each.
        alternatives: registry names of installed solvers that can; None if these are unknown.
    """

    def __init__(
        self, solver: str, reasons: tuple[str, ...], alternatives: tuple[str, ...] | None = None
    ):
        self.solver = solver
        self.reasons = reasons
        self.alternatives = alternatives
        advice = ""
        if alternatives is not None:
            advice = " No other installed solver can."
        if alternatives:
            advice = f" Use one of: {', '.join(alternatives)}."
        super().__init__(
            f"solver '{solver}' cannot take this problem: {'; '.join(reasons)}.{advice}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.solver, self.reasons, self.alternatives)
