"""Relaxed samples that gradients flow through."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..objectives.costs import Cost
from ..schedules import ExponentialDecay, Schedule, as_schedule
from ..spaces import space_of
from ..spaces.of_potentials import unary_noise
from .estimator import Estimate, Estimator, needs_samples
from .reasons import not_factorised


def relaxed(
    potentials: AnyPotentials, scores: torch.Tensor, temperature: torch.Tensor | float
) -> torch.Tensor:
    """Return `[..., batch, n]`: the softmax of perturbed scores, for a bit its sigmoid."""
    return space_of(potentials).relaxed(scores, temperature)


def hardened(potentials: AnyPotentials, scores: torch.Tensor) -> torch.Tensor:
    """Return `[..., batch, n]`: the argmax of perturbed scores."""
    return space_of(potentials).argmax(scores)


class Relaxation(Estimator, ABC):
    """The cost of relaxed samples softmax((h + gamma) / temperature), for bits the sigmoid, as gradients see it.

    Args:
        temperature: a schedule, or a number.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples.
    """

    kl = "exact"

    def __init__(self, temperature: Schedule | float | None = None, samples: int = 1):
        super().__init__()
        needs_samples(1, samples)
        self.temperature = (
            ExponentialDecay() if temperature is None else as_schedule(temperature, "temperature")
        )
        self.samples = samples

    @abstractmethod
    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """`[samples, batch, n]`: the states whose cost is taken, of relaxed and of hard samples."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Pairwise scores: there is no relaxation of a coupled argmax here."""
        return not_factorised(potentials, "the Gumbel-softmax relaxation")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        scores = potentials.unary + unary_noise(potentials, generator, self.samples)
        hard = hardened(potentials, scores.detach())
        costs = cost(self.decoded(relaxed(potentials, scores, self.temperature(step)), hard)).mean(
            dim=0
        )
        return Estimate(costs, costs.detach(), hard)


class GumbelSoftmax(Relaxation):
    """Biased for the discrete cost: the exact gradient of the cost of a relaxed sample.

    z = softmax((h + gamma) / temperature), for bits the sigmoid; the bias vanishes with the
    temperature while the variance grows. The cost must be differentiable at relaxed states. For
    independent bits and categories. `z` holds the hard states, `cost` the cost of the relaxed ones.

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax.
        Maddison, Mnih, Teh (2017), The concrete distribution.
    """

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """The relaxed ones."""
        return soft


class StraightThrough(Relaxation):
    """Biased: the cost of the hard sample, with the gradient of the relaxed one.

    As `GumbelSoftmax`, but the decoder sees z = argmax(h + gamma); its gradient in z goes on as if
    z were softmax((h + gamma) / temperature).

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax, section 2.2.
    """

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """The hard ones, with the gradient of the relaxed ones."""
        return hard + (soft - soft.detach())
