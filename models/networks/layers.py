"""Layers that can compute their products in bfloat16 during training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..arguments import of_kind
from ..errors import NetworkError


class _Mixed(nn.Module):
    """A torch layer whose products are in bfloat16 during training, if `mixed` is True.

    Weights, gradients, inputs and outputs stay in float32. In evaluation mode the products are in
    float32 as well, so a bound is never measured with rounded weights.
    """

    weight: torch.Tensor
    mixed = False

    def forward(self, *inputs: Any, **options: Any) -> torch.Tensor:
        """Apply torch's layer, in bfloat16 if `mixed` is True and the layer is in training mode."""
        if not (self.mixed and self.training):
            return super().forward(*inputs, **options)  # type: ignore[no-any-return]
        with torch.autocast(self.weight.device.type, torch.bfloat16):
            out: torch.Tensor = super().forward(*inputs, **options)
        return out.float()

    if TYPE_CHECKING:

        def __call__(self, *inputs: Any, **options: Any) -> torch.Tensor:
            """Call `forward`; declared since torch's own type is Any."""


class Linear(_Mixed, nn.Linear):
    """A `torch.nn.Linear` that supports `train_mixed`."""


class Conv2d(_Mixed, nn.Conv2d):
    """A `torch.nn.Conv2d` that supports `train_mixed`."""


class ConvTranspose2d(_Mixed, nn.ConvTranspose2d):
    """A `torch.nn.ConvTranspose2d` that supports `train_mixed`."""


def train_mixed(networks: nn.Module) -> None:
    """Make the layers of networks compute their products in bfloat16 in training mode.

    Args:
        networks: networks of this package; layers from elsewhere are left unchanged.

    Raises:
        NetworkError: `networks` is not a torch module.
    """
    of_kind(networks, "networks", NetworkError, nn.Module, "a torch module")
    for layer in networks.modules():
        if isinstance(layer, _Mixed):
            layer.mixed = True
