"""Run calls between two graphs of code that `torch.compile` compiles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any, Final, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

COMPILER: Final = "torch._dynamo"
"""The module that torch loads when it first compiles code."""

REASON: Final = (
    "this call of solvers leaves torch, so compiled code has a graph break before it: leave out "
    "fullgraph=True, or call it outside of compiled code"
)
"""The reason that `torch.compile` states if it may not break the graph at a call of `solvers`."""


def between_graphs(function: FunctionT, reason: str = REASON) -> FunctionT:
    """Return a function that `torch.compile` calls between two graphs, without looking inside.

    Without this, torch would compile the Python code of the solvers, which takes long and fails.
    This module does not load torch. Until torch compiles code, calls are direct.

    Args:
        function: a function that takes tensors and leaves torch.
        reason: what `torch.compile` states if it may not break the graph.
    """
    outside: Callable[..., Any] | None = None
    modules = sys.modules
    compiler = COMPILER
    disabled = _disabled

    def call(*args: Any, **options: Any) -> Any:
        nonlocal outside
        if outside is None:
            if compiler not in modules:
                return function(*args, **options)
            torch: Any = modules["torch"]
            if torch.compiler.is_compiling():
                torch._dynamo.graph_break(msg=reason)
            outside = disabled(torch, function, reason)
        return outside(*args, **options)

    # Tools look up the types of overloads in the globals of the function that they document. So the
    # wrapper has the globals of `function`, and takes all other names from its closure.
    of_same_module = FunctionType(
        call.__code__, function.__globals__, function.__name__, None, call.__closure__
    )
    return cast("FunctionT", wraps(function)(of_same_module))


def _disabled(torch: Any, function: Callable[..., Any], reason: str) -> Callable[..., Any]:
    """Return a function that torch calls without compiling it."""
    disable: Callable[..., Any] = torch.compiler.disable
    if "reason" in signature(disable).parameters:  # since torch 2.7
        return cast("Callable[..., Any]", disable(function, reason=reason))
    return cast("Callable[..., Any]", disable(function))
