"""Tensors of a module that its arguments determine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import nn


class ModuleWithConstants(nn.Module):
    """A module with tensors that its arguments determine, such as masks and edges.

    They follow the module from device to device, and are not in its state dict. They are made again
    after each move: `to_empty` leaves other buffers without their numbers, and no state dict brings
    these back.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._constants = dict[str, Callable[[], torch.Tensor]]()

    def register_constant(self, name: str, make: Callable[[], torch.Tensor]) -> None:
        """Add a constant as an attribute of that name.

        Args:
            name: of the attribute.
            make: returns the same numbers whenever it is called; can be pickled.
        """
        self._constants[name] = make
        default_device = torch.empty(0).device
        self.register_buffer(name, make().to(default_device), persistent=False)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        module: Self = super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch's
        for name, make in self._constants.items():
            moved = getattr(self, name)
            if not moved.is_meta:
                with torch.device("cpu"):
                    setattr(self, name, make().to(moved))
        return module
