"""Calls whose values Python cannot branch on.

They are compiled code, transforms of `torch.func`, and steps that a CUDA graph records.
"""

from __future__ import annotations

from typing import Final

import torch

RAISES: Final = 2
"""The synchronisation debug mode in which torch raises where the host waits."""


def is_traced() -> bool:
    """Return whether this call is compiled, or runs under a transform of `torch.func`.

    The tensors of such a call stand for values that are not there yet, or for several instances at
    once. Code that branches on values, or leaves torch, has to go into an operator.
    """
    return torch.compiler.is_compiling() or is_transformed()


def is_transformed() -> bool:
    """Return whether this call runs under `torch.func.grad`, `vjp`, `jvp`, `vmap` or the like."""
    if torch.compiler.is_compiling():
        return False
    return torch._C._functorch.maybe_current_level() is not None


def holds(condition: torch.Tensor) -> bool:
    """Return whether a condition holds in every entry; true where the call cannot ask.

    Compiled code cannot ask, and neither can a step that must not wait for its device. Such code
    has to give NaN for bad values, which the end of an epoch refuses.

    Args:
        condition: of any shape, boolean; under `torch.func` that of every instance is asked.
    """
    if torch.compiler.is_compiling():
        return True
    values = plain(condition)
    return not may_wait(values) or bool(values.all())


def may_wait(values: torch.Tensor) -> bool:
    """Return whether the host may wait for the values of a tensor.

    It may not while a CUDA graph records, nor in the attempt before, which makes torch raise where
    the host waits. A tensor on the device meta has no values.
    """
    if values.is_meta:
        return False
    if values.device.type != "cuda":
        return True
    if torch.cuda.is_current_stream_capturing():
        return False
    return torch.cuda.get_sync_debug_mode() != RAISES


def plain(values: torch.Tensor) -> torch.Tensor:
    """Return the values of a tensor without the wrappers of `torch.func`.

    Instances of `vmap` then have a dimension of their own, at any place.
    """
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(values):
        values = functorch.get_unwrapped(values)
    return values
