"""Estimators from two coupled samples of independent bits."""

from __future__ import annotations

import torch

from models import AnyPotentials

from ..costs import Cost
from .estimator import Estimate, Estimator, needs_samples
from .reasons import not_bits, not_factorised


def _pair(
    unary: torch.Tensor, samples: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Uniform numbers u `[samples, batch, n]`, and the samples [u < p] and [1 - u < p], p = sigmoid(unary)."""
    shape, like = (samples, *unary.shape), unary.detach()
    u = torch.rand(shape, generator=generator, device=like.device, dtype=like.dtype)
    p = like.sigmoid()
    return u, (u < p).to(like.dtype), (1 - u < p).to(like.dtype)


def _estimate_of(
    potentials: AnyPotentials, gradient: torch.Tensor, costs: torch.Tensor, z: torch.Tensor
) -> Estimate:
    """From gradients `[samples, batch, n]` in the unary scores and the costs of both samples."""
    cost = costs.mean(dim=0)
    surrogate = (potentials.unary * gradient.mean(dim=0)).sum(dim=-1) + cost
    return Estimate(surrogate, cost.detach(), z)


class ARM(Estimator):
    """Unbiased: the augment-REINFORCE-merge estimator of independent bits.

    g = (cost([1 - u < p]) - cost([u < p])) (u - 1/2), with the same uniform u for both. The cost may be
    any function. The decoder learns from both samples.

    Args:
        samples: pairs an image.

    Raises:
        EstimatorError: no samples.

    References:
        Yin, Zhou (2019), ARM: augment-REINFORCE-merge gradient for stochastic binary networks.
    """

    kl = "exact"

    def __init__(self, samples: int = 1):
        super().__init__()
        needs_samples(1, samples)
        self.samples = samples

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Pairwise scores, or categories."""
        return not_bits(potentials, "ARM") + not_factorised(potentials, "ARM")

    def _estimate(
        self, potentials: AnyPotentials, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        u, z, other = _pair(potentials.unary, self.samples, generator)
        at_z, at_other = cost(z), cost(other)
        gradient = (at_other - at_z).detach()[..., None] * (u - 0.5)
        return _estimate_of(potentials, gradient, (at_z + at_other) / 2, z)


class DisARM(Estimator):
    """Unbiased, with less variance than ARM: the noise that both samples share is integrated out.

    g_i = 1/2 (cost(z) - cost(z')) (z_i - z'_i) sigmoid(abs(unary_i)), for z = [u < p] and z' = [1 - u < p].

    Args:
        samples: pairs an image.

    Raises:
        EstimatorError: no samples.

    References:
        Dong, Mnih, Tucker (2020), DisARM: an antithetic gradient estimator for binary latent variables.
    """

    kl = "exact"

    def __init__(self, samples: int = 1):
        super().__init__()
        needs_samples(1, samples)
        self.samples = samples

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Pairwise scores, or categories."""
        return not_bits(potentials, "DisARM") + not_factorised(potentials, "DisARM")

    def _estimate(
        self, potentials: AnyPotentials, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        _, z, other = _pair(potentials.unary, self.samples, generator)
        at_z, at_other = cost(z), cost(other)
        certainty = potentials.unary.detach().abs().sigmoid()
        gradient = (at_z - at_other).detach()[..., None] / 2 * (z - other) * certainty
        return _estimate_of(potentials, gradient, (at_z + at_other) / 2, z)
