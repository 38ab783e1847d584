"""Calls whose values Python cannot branch on: compiled code, and transforms of `torch.func`."""

from __future__ import annotations

import torch


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
    """Return whether a condition holds in every entry; true in compiled code, which cannot ask.

    Args:
        condition: of any shape, boolean; under `torch.func` that of every instance is asked.
    """
    if torch.compiler.is_compiling():
        return True
    return bool(plain(condition).all())


def plain(values: torch.Tensor) -> torch.Tensor:
    """Return the values of a tensor without the wrappers of `torch.func`.

    Instances of `vmap` then have a dimension of their own, at any place.
    """
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(values):
        values = functorch.get_unwrapped(values)
    return values
