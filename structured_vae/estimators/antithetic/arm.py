"""The estimators from two coupled samples of independent bits."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...noise import random_numbers
from ...objectives.costs import Cost
from ..estimator import Compared, Estimate
from ..reasons import not_independent_bits
from ..sampled import Sampled


class AntitheticPair(Sampled, ABC):
    """The base of estimators from two samples of independent bits with the same uniform u.

    They are z = [u < p] and z' = [1 - u < p], where p = sigmoid(unary). The cost may be any
    function. The decoder learns from both samples.

    Args:
        samples: number of pairs per image; None for the usual number.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.
    """

    kl = "density"

    @abstractmethod
    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """Return the factor `[samples, batch, n]` of cost(z) - cost(z').

        Args:
            unary: `[batch, n]`.
            u: `[samples, batch, n]`, the uniform numbers.
            z: `[samples, batch, n]`.
            other: `[samples, batch, n]`, z'.
        """

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared(cls.__name__, lambda _: cls(), has_setting=False),)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are pairwise scores or categories."""
        reasons = super().why_not(potentials)
        return reasons + not_independent_bits(potentials, type(self).__name__)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        unary = potentials.unary.detach()
        u, z, other = antithetic_pair(unary, self.samples, generator)
        at_z = cost(z)
        at_other = cost(other)
        gradient = (at_z - at_other).detach()[..., None] * self.weights(unary, u, z, other)
        costs = ((at_z + at_other) / 2).mean(dim=0)
        linear = (potentials.unary * gradient.mean(dim=0)).sum(dim=-1)
        linear = self.once(linear, potentials)
        return Estimate(linear + costs, costs.detach(), z)


class ARM(AntitheticPair):
    """The augment-REINFORCE-merge (ARM) estimator of independent bits: unbiased.

    g = (cost(z') - cost(z)) (u - 1/2) for z = [u < p] and z' = [1 - u < p].

    A pair of samples costs two decodes, and no argmax.

    Args:
        samples: number of pairs per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Yin, Zhou (2019), ARM: augment-REINFORCE-merge gradient for stochastic binary networks.
    """

    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """Return 1/2 - u."""
        return 0.5 - u


class DisARM(AntitheticPair):
    """The DisARM estimator of independent bits: unbiased, with less variance than ARM.

    The noise that both samples share is integrated out.

    g_i = 1/2 (cost(z) - cost(z')) (z_i - z'_i) sigmoid(abs(unary_i)), for z = [u < p] and
    z' = [1 - u < p].

    A pair of samples costs two decodes, and no argmax.

    Args:
        samples: number of pairs per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Dong, Mnih, Tucker (2020), DisARM: an antithetic gradient estimator for binary latent
        variables.
    """

    def weights(
        self, unary: torch.Tensor, u: torch.Tensor, z: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """Return (z - z') sigmoid(abs(unary)) / 2."""
        return disarm_factors(unary, z, other)


def antithetic_pair(
    unary: torch.Tensor, samples: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return u, z = [u < p] and z' = [1 - u < p], `[samples, batch, n]` each."""
    shape = (samples, *unary.shape)
    u = random_numbers(
        torch.rand, shape, generator=generator, device=unary.device, dtype=unary.dtype
    )
    p = unary.sigmoid()
    z = (u < p).to(unary.dtype)
    other = (1 - u < p).to(unary.dtype)
    return u, z, other


def disarm_factors(unary: torch.Tensor, z: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the factor (z - z') sigmoid(abs(unary)) / 2 of cost(z) - cost(z') in DisARM."""
    return (z - other) * unary.abs().sigmoid() / 2
