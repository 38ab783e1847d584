"""The estimators from relaxed samples, through which gradients flow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import torch

from models.arguments import whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...schedules import ExponentialDecay, Schedule, as_schedule
from ...spaces import space_of
from ...spaces.of_potentials import unary_noise
from ..estimator import Compared, Estimate, Estimator
from ..options import EstimatorOptions
from ..reasons import not_factorised


def relaxed(
    potentials: AnyPotentials, scores: torch.Tensor, temperature: torch.Tensor | float
) -> torch.Tensor:
    """Return the softmax `[..., batch, n]` of perturbed scores; for bits the sigmoid."""
    return space_of(potentials).relaxed(scores, temperature)


def relaxed_at(
    potentials: AnyPotentials, scores: torch.Tensor, temperature: torch.Tensor | float
) -> torch.Tensor:
    """Return the relaxed state of `scores`, whose gradient goes to the unary scores.

    The scores are taken as the unary scores plus a constant.

    Args:
        potentials: the potentials that get the gradient.
        scores: `[..., batch, n]`.
        temperature: the temperature of the softmax.
    """
    unary = potentials.unary
    return relaxed(potentials, unary + (scores - unary).detach(), temperature)


def hardened(potentials: AnyPotentials, scores: torch.Tensor) -> torch.Tensor:
    """Return the argmax `[..., batch, n]` of perturbed scores."""
    return space_of(potentials).argmax(scores)


@dataclass(frozen=True, eq=False)
class Draw:
    """The samples of one estimate, and what their relaxation depends on.

    Attributes:
        potentials: the scores h.
        noise: gamma `[samples, batch, n]`.
        hard: `[samples, batch, n]`, the argmax of h + gamma.
        temperature: the temperature of the training step.
        generator: draws more noise.
    """

    potentials: AnyPotentials
    noise: torch.Tensor
    hard: torch.Tensor
    temperature: float
    generator: torch.Generator

    @classmethod
    def of(
        cls,
        potentials: AnyPotentials,
        generator: torch.Generator,
        samples: int,
        temperature: float,
    ) -> Draw:
        """Draw samples of potentials with independent variables."""
        noise = unary_noise(potentials, generator, samples)
        hard = hardened(potentials, potentials.unary.detach() + noise)
        return cls(potentials, noise, hard, temperature, generator)

    @property
    def soft(self) -> torch.Tensor:
        """The relaxed samples `[samples, batch, n]`."""
        return relaxed(self.potentials, self.potentials.unary + self.noise, self.temperature)


class Relaxation(Estimator, ABC):
    """The base of estimators with relaxed samples softmax((h + gamma) / temperature).

    For bits the softmax is the sigmoid.

    Attributes:
        relaxation: the name of the relaxation in messages.

    Args:
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.
    """

    kl = "density"
    relaxation: ClassVar[str] = "the Gumbel-softmax relaxation"

    def __init__(self, temperature: Schedule | float | None = None, samples: int = 1):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        if temperature is None:
            temperature = ExponentialDecay()
        self.temperature = as_schedule(temperature, "temperature")
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.temperature, options.samples)

    def relaxed(self, draw: Draw) -> torch.Tensor:
        """Return the states `[samples, batch, n]` through which gradients flow."""
        return draw.soft

    @abstractmethod
    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the states `[samples, batch, n]` to decode, from relaxed and hard samples."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where variables depend on each other, since nothing relaxes them."""
        reasons = super().why_not(potentials)
        return reasons + not_factorised(potentials, self.relaxation)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        draw = Draw.of(q.potentials, generator, self.samples, self.temperature(step))
        costs = cost(self.decoded(self.relaxed(draw), draw.hard)).mean(dim=0)
        return Estimate(costs, costs.detach(), draw.hard)


class HardRelaxation(Relaxation, ABC):
    """The base of estimators that decode hard samples and differentiate relaxed ones: biased."""

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the hard samples, with the gradient of the relaxed ones."""
        return hard + (soft - soft.detach())


class GumbelSoftmax(Relaxation):
    """The Gumbel-softmax estimator, the gradient at a relaxed sample: biased for discrete costs.

    z = softmax((h + gamma) / temperature), for bits the sigmoid. As the temperature goes to zero,
    the bias vanishes and the variance grows. The cost must be differentiable at relaxed states. For
    independent bits and categories. `z` holds the hard states, `cost` the cost of the relaxed ones.

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax.
        Maddison, Mnih, Teh (2017), The concrete distribution.
    """

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("Gumbel-softmax", cls.of_options),)

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the relaxed samples."""
        return soft


class StraightThrough(HardRelaxation):
    """The straight-through estimator, the gradient of a relaxed sample at the hard one: biased.

    It is `GumbelSoftmax`, but the decoder sees z = argmax(h + gamma). The gradient in z continues
    as if z were softmax((h + gamma) / temperature).

    A sample costs one decode and its backward pass, and no argmax.

    Args:
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax, section 2.2.
    """

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("straight-through", cls.of_options),)
