"""Estimators from two coupled samples of independent bits."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..objectives.costs import Cost
from .estimator import Estimate, Estimator, needs_samples
from .reasons import not_bits, not_factorised


class AntitheticPair(Estimator, ABC):
    """Two samples of independent bits from the same uniform u: z = [u < p] and z' = [1 - u < p], p = sigmoid(unary).

    The cost may be any function. The decoder learns from both samples.

    Args:
        samples: pairs an image.

    Raises:
        EstimatorError: no samples.
    """

    kl = "exact"

    def __init__(self, samples: int = 1):
        super().__init__()
        needs_samples(1, samples)
        self.samples = samples

    @abstractmethod
    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """`[samples, batch, n]`: what cost(z) - cost(z') is multiplied with."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Pairwise scores, or categories."""
        name = type(self).__name__
        return not_bits(potentials, name) + not_factorised(potentials, name)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        unary = potentials.unary.detach()
        shape = (self.samples, *unary.shape)
        u = torch.rand(shape, generator=generator, device=unary.device, dtype=unary.dtype)
        p = unary.sigmoid()
        z, other = (u < p).to(unary.dtype), (1 - u < p).to(unary.dtype)
        at_z, at_other = cost(z), cost(other)
        gradient = (at_z - at_other).detach()[..., None] * self.weights(unary, u, z, other)
        costs = ((at_z + at_other) / 2).mean(dim=0)
        surrogate = (potentials.unary * gradient.mean(dim=0)).sum(dim=-1) + costs
        return Estimate(surrogate, costs.detach(), z)


class ARM(AntitheticPair):
    """Unbiased: the augment-REINFORCE-merge estimator of independent bits.

    g = (cost(z') - cost(z)) (u - 1/2) for z = [u < p] and z' = [1 - u < p].

    A pair of samples costs two decodes, and no argmax.

    Args:
        samples: pairs an image.

    Raises:
        EstimatorError: no samples.

    References:
        Yin, Zhou (2019), ARM: augment-REINFORCE-merge gradient for stochastic binary networks.
    """

    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """1/2 - u."""
        return 0.5 - u


class DisARM(AntitheticPair):
    """Unbiased, with less variance than ARM: the noise that both samples share is integrated out.

    g_i = 1/2 (cost(z) - cost(z')) (z_i - z'_i) sigmoid(abs(unary_i)), for z = [u < p] and z' = [1 -
    u < p].

    A pair of samples costs two decodes, and no argmax.

    Args:
        samples: pairs an image.

    Raises:
        EstimatorError: no samples.

    References:
        Dong, Mnih, Tucker (2020), DisARM: an antithetic gradient estimator for binary latent
        variables.
    """

    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """(z - z') sigmoid(abs(unary)) / 2."""
        return (z - other) * unary.abs().sigmoid() / 2
