"""Layers that can multiply in half of the bits while they train."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn


class _Mixed(nn.Module):
    """A layer of torch whose products are in bfloat16 during training, once `mixed` is set.

    Weights, their gradients and what goes in and out stay in float32, and in evaluation mode so do
    the products: a bound is never measured with rounded weights.
    """

    weight: torch.Tensor
    mixed = False

    def forward(self, *inputs: Any, **options: Any) -> torch.Tensor:
        """What torch's layer makes of its inputs."""
        if not (self.mixed and self.training):
            return super().forward(*inputs, **options)  # type: ignore[no-any-return]
        with torch.autocast(self.weight.device.type, torch.bfloat16):
            out: torch.Tensor = super().forward(*inputs, **options)
        return out.float()

    if TYPE_CHECKING:

        def __call__(self, *inputs: Any, **options: Any) -> torch.Tensor:
            """As `forward`; torch says Any."""


class Linear(_Mixed, nn.Linear):
    """torch.nn.Linear."""


class Conv2d(_Mixed, nn.Conv2d):
    """torch.nn.Conv2d."""


class ConvTranspose2d(_Mixed, nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d."""


def train_mixed(networks: nn.Module) -> None:
    """From now on, products of networks in training mode are in bfloat16.

    Args:
        networks: of this package; layers that are not of this module stay as they are.
    """
    for layer in networks.modules():
        if isinstance(layer, _Mixed):
            layer.mixed = True
