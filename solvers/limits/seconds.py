"""Support solvers that were written for time limits in seconds instead of a `Deadline`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .deadline import Deadline

METHODS = ("_argmax", "_argmax_within", "best_states")

OLD_NAME = "time_limit"


def accept_seconds(solver: type) -> None:
    """Pass seconds to methods of a solver that have a parameter called `time_limit`.

    Warns:
        DeprecationWarning: the class has such a method.
    """
    for name in METHODS:
        method = vars(solver).get(name)
        if method is None or OLD_NAME not in inspect.signature(method).parameters:
            continue
        warnings.warn(
            f"{solver.__name__}.{name} takes `time_limit` in seconds; take `deadline`, a "
            "solvers.Deadline, and end when it has `passed`",
            DeprecationWarning,
            stacklevel=3,
        )
        setattr(solver, name, _in_seconds(method))


def _in_seconds(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any) -> Any:
        return method(*(_seconds_of(argument) for argument in arguments))

    return call


def _seconds_of(argument: Any) -> Any:
    if isinstance(argument, Deadline):
        return argument.seconds
    return argument
