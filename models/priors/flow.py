"""The masked autoregressive flow, and the Gaussian with a full covariance as its simplest case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import nn

from ..errors import SettingError
from ..shapes import Costs, Style
from .causal import CausalLinear, CausalNetwork, linear_mask
from .density import DensityPrior, bounded, log_normal


class AffineLayer(nn.Module):
    """An invertible map of codes: u_v = (z_v - mean_v) / scale_v, both given z_1 to z_{v-1}.

    It starts as the identity.

    Args:
        network: gives two outputs for each variable, mean and log scale.
    """

    def __init__(self, network: CausalNetwork):
        super().__init__()
        if (network.width, network.outputs) != (1, 2):
            raise SettingError(
                "the network of an affine layer has one entry and two outputs for each variable; "
                f"got {network.width} and {network.outputs}"
            )
        self.network = network

    def forward(self, z: Style) -> tuple[Style, Style]:
        """Return the images u and the log scales of codes `z`, all of the shape `[..., n]`."""
        outputs = self.network(z).unflatten(-1, (self.network.variables, 2))
        mean, log_scale = outputs.unbind(dim=-1)
        log_scale = bounded(log_scale)
        return (z - mean) * (-log_scale).exp(), log_scale

    def inverse(self, images: Style) -> Style:
        """Return the codes `[count, n]` of `images [count, n]`, variable by variable."""
        remaining = iter(images.chunk(self.network.variables, dim=-1))

        def invert(outputs: torch.Tensor) -> torch.Tensor:
            mean, log_scale = outputs.chunk(2, dim=-1)
            return mean + bounded(log_scale).exp() * next(remaining)

        return self.network.variable_by_variable(len(images), invert)


class FlowPrior(DensityPrior):
    """The density of codes that a stack of affine layers maps to independent standard normals.

    Each layer gets the images of the layer before in reverse order. log p(z) is exact
    by the change of variables, in one pass of each network: log N(u; 0, 1) of the last images u,
    minus the sum of all log scales. It starts as the standard normal.

    Args:
        networks: one for each layer, with one entry and two outputs for each variable.
        name: the name under which `DENSITY_PRIORS` makes such a prior.

    References:
        Papamakarios, Pavlakou, Murray (2017), Masked autoregressive flow for density estimation,
        equations 3 to 6.

    Example:
        >>> prior = FlowPrior([gaussian_network(2)], "linear")
        >>> prior.log_prob(torch.zeros(2))  # -log(2 pi) at first
        tensor(-1.8379, grad_fn=<SumBackward1>)
        >>> prior.sample(3, torch.Generator().manual_seed(0)).shape
        torch.Size([3, 2])
    """

    def __init__(self, networks: Sequence[CausalNetwork], name: str):
        super().__init__(networks[0].variables, name)
        self.layers = nn.ModuleList(AffineLayer(network) for network in networks)

    def log_prob(self, z: Style) -> Costs:
        """Return log p(z) `[...]`, as specified by `DensityPrior`."""
        images = z
        log_scales = torch.zeros_like(z)
        for layer in self.layers:
            images, of_layer = layer(images)
            images = images.flip(-1)
            # The log scales of all layers and variables are added up, so their order is not needed.
            log_scales = log_scales + of_layer
        return (log_normal(images) - log_scales).sum(dim=-1)

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Style:
        """Return exact samples `[count, n]`, by the inverse of each layer in turn."""
        weight = next(self.parameters())
        codes = torch.randn(
            (count, self.n), generator=generator, device=weight.device, dtype=weight.dtype
        )
        layers = cast("list[AffineLayer]", list(self.layers))
        # The inverse takes the layers from the last to the first.
        for layer in reversed(layers):
            codes = layer.inverse(codes.flip(-1))
        return codes


def gaussian_network(n: int) -> CausalLinear:
    """Return a network whose means are linear and whose scales do not depend on other variables.

    A flow of this one layer is a Gaussian with any covariance.
    """
    network = CausalLinear(n, 1, outputs=2)
    network.register_constant("mask", partial(_mask_of_means, n))
    return network


def _mask_of_means(n: int) -> torch.Tensor:
    """Return the mask `[2 n, n]` of means; only the bias of a log scale counts."""
    mask = linear_mask(n, 1, 2)
    mask[1::2] = False
    return mask
