"""A diagonal Gaussian over continuous codes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .shapes import Costs, Style


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution with independent coordinates for each image.

    Attributes:
        mean: `[batch, c]`; or `[batch, k, c]`, a distribution for each of k classes, and what is
            `[batch]` below is `[batch, k]` then.
        log_variance: of the same shape.
    """

    mean: Style
    log_variance: Style

    def sample(self, generator: torch.Generator) -> Style:
        """`[batch, c]`: one draw, differentiable in both parameters."""
        noise = torch.randn(
            self.mean.shape, generator=generator, device=self.mean.device, dtype=self.mean.dtype
        )
        return self.mean + (self.log_variance / 2).exp() * noise

    def kl(self) -> Costs:
        """`[batch]`: the KL to the standard normal distribution in nats, exact."""
        terms = self.mean.square() + self.log_variance.exp() - 1 - self.log_variance
        return terms.sum(dim=-1) / 2

    def log_ratio(self, style: Style) -> Costs:
        """`[batch]`: log of the standard normal density over this one at `style`."""
        standardised = (style - self.mean).square() * (-self.log_variance).exp()
        return (standardised + self.log_variance - style.square()).sum(dim=-1) / 2
