"""Exports and traces: they record a call to replay it elsewhere, and cannot store a solver.

Compiled code stores it, but some calls leave torch, so that they cannot be inside of a graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

import torch

from solvers import graph_breaks

from ..errors import ConfigError

Caller = TypeVar("Caller")
Options = ParamSpec("Options")
Result = TypeVar("Result")

REASON: Final = (
    "this call of structured_vae leaves torch, so compiled code has a graph break before it: leave "
    "out fullgraph=True, or call it outside of compiled code"
)
"""The reason that `torch.compile` states if it may not break the graph."""

CONSTRUCTION: Final = (
    "compiled code cannot construct this object of structured_vae: construct it once, outside of "
    "the compiled function, and call it inside; or leave out fullgraph=True"
)
"""The reason that `torch.compile` states for a constructor inside of a graph."""


def between_graphs(
    method: Callable[Concatenate[Caller, Options], Result],
) -> Callable[Concatenate[Caller, Options], Result]:
    """Return a method that `torch.compile` calls between two graphs, without looking inside.

    Without this, it would compile the solver's Python code, which takes long and fails.

    Args:
        method: a method that returns more than tensors, or calls functions of the user. An export
            or a trace of it raises a `ConfigError`.
    """
    outside = graph_breaks.between_graphs(method, REASON)

    @wraps(method)
    def call(caller: Caller, /, *args: Options.args, **options: Options.kwargs) -> Result:
        refuse_recording(caller)
        result: Result = outside(caller, *args, **options)
        return result

    return call


@partial(graph_breaks.between_graphs, reason=CONSTRUCTION)
def construct_between_graphs() -> None:
    """Let `torch.compile` run the constructor that calls this between two graphs.

    Without this, it would compile imports of solvers, arrays of numpy or parameters, and fail with
    an error that does not say what to do.
    """


def refuse_recording(what: object) -> None:
    """Raise if `torch.export`, `torch.jit.trace` or `torch.fx` is recording this call.

    A solver is a Python object, but a recording holds only tensors and numbers. It would return the
    states of the example input, or ask another solver in another process. `torch.compile` keeps the
    object, so compiled calls are allowed.

    Args:
        what: the layer, loss, structure or solver that is called, or its name, for the message.

    Raises:
        ConfigError: the call is being recorded.
    """
    if is_recording():
        name = _name(what)
        raise ConfigError(
            f"{name} cannot be exported or traced, since the recorded program could not keep its "
            f"solver: export the network that computes the scores, and call {name} on its output; "
            "or "
            "export a form of structured_vae.inference, which needs no solver"
        )


def is_recording() -> bool:
    """Return True if an export or a trace records what torch computes now."""
    compiler = torch.compiler
    if compiler.is_compiling():
        exporting = getattr(compiler, "is_exporting", None)  # since torch 2.7
        if exporting is not None and exporting():
            return True
        return not compiler.is_dynamo_compiling()
    # torch does not declare `is_tracing` as an export
    if torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]
        return True
    if _traces_symbolically():
        return True
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return proxies is not None and proxies.get_proxy_mode() is not None


def _traces_symbolically() -> bool:
    """Return whether `torch.fx.symbolic_trace` records what torch computes now."""
    tracer = sys.modules.get("torch.fx._symbolic_trace")
    if tracer is None:
        return False
    is_tracing = getattr(tracer, "is_fx_symbolic_tracing", None)  # later than torch 2.6
    if is_tracing is None:
        is_tracing = tracer.is_fx_tracing
    return bool(is_tracing())


def _name(what: object) -> str:
    if isinstance(what, str):
        return what
    return type(what).__name__
