"""Exports and traces, which record a call to replay it elsewhere, and cannot take a solver along."""

from __future__ import annotations

import sys

import torch

from .errors import ConfigError


def refuse_recording(what: object) -> None:
    """Raise where `torch.export`, `torch.jit.trace` or `make_fx` records this call.

    A solver is a Python object, and a recording holds tensors and numbers alone: it would answer
    with the states of the example input, or in another process with another solver. `torch.compile`
    keeps the object and may go on.

    Args:
        what: the layer, loss, structure or solver that is asked, or its name for the error.

    Raises:
        ConfigError: the call is being recorded.
    """
    if is_recording():
        raise ConfigError(
            f"{_name(what)} cannot be exported or traced, as the recorded program could not keep its solver: "
            f"export the network that gives the scores, and ask {_name(what)} about what it gives"
        )


def is_recording() -> bool:
    """Whether an export or a trace records what torch computes now."""
    compiler = torch.compiler
    if compiler.is_compiling():
        exporting = getattr(compiler, "is_exporting", None)  # since torch 2.7
        if exporting is not None and exporting():
            return True
        return not compiler.is_dynamo_compiling()
    if torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]  # torch exports it by name only
        return True
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return proxies is not None and proxies.get_proxy_mode() is not None


def _name(what: object) -> str:
    return what if isinstance(what, str) else type(what).__name__
