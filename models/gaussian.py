"""The diagonal Gaussian distribution over continuous codes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from .shapes import Costs, Style


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution with independent coordinates for each image.

    Attributes:
        mean: `[batch, c]`; or `[batch, k, c]`, for one distribution per class, where the methods
            return `[batch, k]` instead of `[batch]`.
        log_variance: the logarithm of the variances, in the shape of `mean`.
    """

    mean: Style
    log_variance: Style

    def sample(self, generator: torch.Generator) -> Style:
        """Draw one code per image, differentiable in mean and variance: `[batch, c]`."""
        noise = torch.randn(
            self.mean.shape, generator=generator, device=self.mean.device, dtype=self.mean.dtype
        )
        return self.mean + (self.log_variance / 2).exp() * noise

    def kl(self) -> Costs:
        """Return the exact KL divergence to the standard normal, in nats: `[batch]`."""
        terms = self.mean.square() + self.log_variance.exp() - 1 - self.log_variance
        return terms.sum(dim=-1) / 2

    def entropy(self) -> Costs:
        """Return the exact differential entropy in nats: `[batch]`."""
        return (self.log_variance + math.log(2 * math.pi) + 1).sum(dim=-1) / 2

    def log_prob(self, style: Style) -> Costs:
        """Return log q(style) in nats: `[batch]`."""
        standardised = (style - self.mean).square() * (-self.log_variance).exp()
        return -(standardised + self.log_variance + math.log(2 * math.pi)).sum(dim=-1) / 2

    def log_ratio(self, style: Style) -> Costs:
        """Return log N(style; 0, 1) - log q(style), in nats: `[batch]`."""
        standardised = (style - self.mean).square() * (-self.log_variance).exp()
        return (standardised + self.log_variance - style.square()).sum(dim=-1) / 2
