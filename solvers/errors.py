"""Define the errors of this package: each derives from `SolverError` and a matching builtin."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any


def shortened(value: object) -> str:
    """Return any value as a short text for a message."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # an integer of more digits than Python writes
        return f"{type(value).__name__} of too many digits to show"


NO_OTHER_NAMES: Mapping[str, str] = MappingProxyType({})
"""No other names, for `did_you_mean`."""


def did_you_mean(
    name: object, names: Iterable[object], other_names: Mapping[str, str] = NO_OTHER_NAMES
) -> str:
    """Return the hint "did you mean 'x'? " for a wrong name; empty if no name is similar.

    Args:
        name: the wrong name.
        names: the right ones; those that are not strings are never suggested.
        other_names: what to suggest for other names, and for names that are similar to them.

    Example:
        >>> did_you_mean("appel", ["apple", "pear"])
        "did you mean 'apple'? "
        >>> did_you_mean("Pomme", ["apple", "pear"], {"pomme": "apple"})
        "did you mean 'apple'? "
    """
    if not isinstance(name, str):
        return ""
    suggested = {**other_names, **{word: word for word in names if isinstance(word, str)}}
    same = [word for word in suggested if _letters(word) == _letters(name)]
    near = same or difflib.get_close_matches(name, suggested, n=1)
    if near:
        return f"did you mean {shortened(suggested[near[0]])}? "
    return ""


def _letters(name: str) -> str:
    """Return a name in lower case, without blanks, hyphens and underscores."""
    return name.lower().translate(str.maketrans("", "", " -_"))


class SolverError(Exception):
    """Base class of every deliberate error of the solvers."""


class ProblemError(SolverError, ValueError):
    """Error for arrays of a wrong shape or with wrong values, which do not describe a problem."""


class ProblemTooLargeError(SolverError, MemoryError):
    """Error for a problem that needs more than the free memory."""


class OptionError(SolverError, ValueError):
    """Error for an option whose value is outside its range."""


class UnknownSolverError(SolverError, LookupError):
    """Error for a name under which no solver is registered."""


class SolverUnavailableError(SolverError, ImportError):
    """Error for a solver that needs a package which is not installed."""


class TimeLimitError(SolverError, TimeoutError):
    """Error for exact sums that the time limit ended, since they have no earlier result."""


class SolveFailedError(SolverError, RuntimeError):
    """Error for a backend that stopped without an answer."""


class InfeasibleError(SolverError, ValueError):
    """Error for constraints that provably no state satisfies.

    Attributes:
        constraints: the names of the constraints; empty if only scores of minus infinity forbid
            states.
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
    """Error for a problem that a solver cannot take, such as for its size, signs or constraints.

    Attributes:
        solver: registry name of the solver.
        reasons: the reasons, one sentence each.
        alternatives: registry names of installed solvers that can take it; None if unknown.
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
