"""The autoregressive density with a mixture of Gaussians for each variable."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import torch

from ..errors import SettingError
from ..shapes import Costs, Style
from .causal import CausalNetwork
from .density import DensityPrior, bounded, log_normal

SPREAD: Final = 0.5
"""The means of a mixture start between minus and plus this; equal ones would never part."""


class MixturePrior(DensityPrior):
    """The density p(z) = prod_v p(z_v | z_1, ..., z_{v-1}), each factor a mixture of Gaussians.

    A causal network gives the weights, means and scales of the components. log p(z) is exact, in
    one pass of the network, and so are samples, drawn variable by variable. With one component it
    starts as the standard normal; with several each factor has mean 0 and variance 1 at first, and
    nearly the density of the standard normal.

    Args:
        network: gives three outputs for each component of each variable.
        name: the name under which `DENSITY_PRIORS` makes such a prior.

    References:
        Uria, Murray, Larochelle (2013), RNADE: the real-valued neural autoregressive
        density-estimator; Papamakarios, Pavlakou, Murray (2017), Masked autoregressive flow for
        density estimation, section 4.1 (MADE with mixtures of Gaussians).

    Example:
        >>> from models.priors import MADE
        >>> prior = MixturePrior(MADE(2, 1, hidden=8, outputs=3), "made")
        >>> prior.log_prob(torch.zeros(2))  # -log(2 pi) at first
        tensor(-1.8379, grad_fn=<SumBackward1>)
    """

    first_means: torch.Tensor

    def __init__(self, network: CausalNetwork, name: str):
        super().__init__(network.variables, name)
        components, left = divmod(network.outputs, 3)
        if network.width != 1 or left:
            raise SettingError(
                "the network of a mixture has one entry for each variable, and three outputs for "
                f"each component; got {network.width} and {network.outputs}"
            )
        self.network = network
        means = [0.0]
        if components > 1:
            gap = 2 * SPREAD / (components - 1)
            means = [place * gap - SPREAD for place in range(components)]
        # The components' variance and that of their means add up to 1.
        variance = 1 - sum(mean**2 for mean in means) / components
        self.first_log_scale = math.log(variance) / 2
        self.register_constant("first_means", partial(torch.tensor, means))

    def log_prob(self, z: Style) -> Costs:
        """Return log p(z) `[...]`, as specified by `DensityPrior`."""
        outputs = self.network(z).unflatten(-1, (self.n, self.network.outputs))
        log_weights, means, log_scales = self._components(outputs)
        standardised = (z[..., None] - means) * (-log_scales).exp()
        densities = log_weights + log_normal(standardised) - log_scales
        return densities.logsumexp(dim=-1).sum(dim=-1)

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Style:
        """Return exact samples `[count, n]`, variable by variable."""

        def draw(outputs: torch.Tensor) -> torch.Tensor:
            log_weights, means, log_scales = self._components(outputs)
            component = torch.multinomial(log_weights.exp(), 1, generator=generator)
            mean = means.gather(-1, component)
            scale = log_scales.gather(-1, component).exp()
            return torch.normal(mean, scale, generator=generator)

        return self.network.variable_by_variable(count, draw)

    def _components(self, outputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the log weights, means and log scales `[..., components]` that outputs mean."""
        logits, means, log_scales = outputs.chunk(3, dim=-1)
        return (
            logits.log_softmax(dim=-1),
            means + self.first_means,
            bounded(log_scales) + self.first_log_scale,
        )
