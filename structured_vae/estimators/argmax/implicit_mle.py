"""The estimators of implicit maximum likelihood: a second argmax along the cost's gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch

from models.arguments import (
    SHARE_BELOW_ONE,
    is_share_below_one,
    number,
    one_of,
    positive_number,
    whole_number,
)
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...distributions.argmax import AnySolver, argmax, checked_solver
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...schedules import ExponentialDecay, Schedule, as_schedule
from ...spaces import Structure
from ...spaces.of_potentials import unary_noise
from ..estimator import Estimate
from ..options import EstimatorOptions
from .by_argmax import ByArgmax
from .changes import usable_slope
from .direct import Sides
from .epsilon import Step


class Linearised(ByArgmax, ABC):
    """The base of estimators that move the scores along the gradient of the cost at a sample.

    Attributes:
        samples: number of noise draws per image.
        sides: 1, or 2 for a central difference.
    """

    kl = "folded"
    samples: int
    sides: Sides

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes: one for each side and one for z, for every sample."""
        return self.samples * (1 + self.sides)

    @abstractmethod
    def step_size(self, step: int, slope: torch.Tensor, potentials: AnyPotentials) -> Step:
        """Return the epsilon that multiplies the gradients `slope [samples, batch, n]`."""

    def observe(self, moved: torch.Tensor) -> None:
        """Take note of the entries `[samples, batch, n]` that differ between the argmaxes."""
        del moved

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        perturbed = potentials.detach().shifted(unary_noise(potentials, generator, self.samples))
        z = argmax(perturbed, self._solver_of_pairs)
        # A leaf of its own: the gradient stops at z and does not reach the encoder.
        leaf = z.clone().requires_grad_()
        costs = cost(leaf)
        (slope,) = torch.autograd.grad(costs.sum(), leaf, retain_graph=True)
        slope, mark = usable_slope(slope)
        epsilon = self.step_size(step, slope, potentials.detach())
        low = argmax(perturbed.shifted(-epsilon * slope), self._solver_of_pairs)
        high = z
        if self.sides == 2:
            high = argmax(perturbed.shifted(epsilon * slope), self._solver_of_pairs)
        # A finite difference: its gradient in the potentials
        # is (z(high) - z(low)) / (sides epsilon).
        change = mark * potentials.score_difference(high, low) / (self.sides * epsilon)
        change = self.once(change, potentials)
        moved = high != low
        self.observe(moved)
        stats = {"changed": moved.any(dim=-1).float().mean()}
        return Estimate((change + costs).mean(dim=0), costs.detach().mean(dim=0), z, stats)


class ImplicitMLE(Linearised):
    """The implicit-MLE estimator, a difference of two argmaxes: biased.

    It is (z(h + gamma) - z(h + gamma - epsilon grad cost(z))) / epsilon: `Direct`, with the cost
    linearised by its gradient at the sample rather than by its change at every flip. That takes one
    backward pass instead of n decodes, and a cost that is differentiable at z. A gradient describes
    a whole flip less well than the change of the cost.

    A sample costs one decode and its backward pass, and 2 argmaxes.

    Args:
        solver: name or object of `solvers`, or a `Structure`. For categories with pairwise scores
            it is one of `solvers.labels`; for other categories it is not used.
        epsilon: a number or a schedule; lambda in the paper; default: 0.1.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE: backpropagating through discrete
        exponential family distributions.
    """

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        epsilon: Schedule | float | None = None,
        samples: int = 1,
    ):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        self.solver = checked_solver(solver)
        if epsilon is None:
            epsilon = ExponentialDecay(start=0.1)
        self.epsilon = as_schedule(epsilon, "epsilon")
        self.samples = samples
        self.sides = 1

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, options.epsilon, options.samples)

    def step_size(self, step: int, slope: torch.Tensor, potentials: AnyPotentials) -> float:
        """Return the scheduled value."""
        return self.epsilon(step)


class AdaptiveImplicitMLE(Linearised):
    """The adaptive implicit-MLE estimator: `ImplicitMLE` with a step that finds itself: biased.

    The step is relative to the scores and to the gradients of the batch:

        `epsilon = beta |h| / |grad cost(z)|`, with norms over the unary scores.

    After every estimate in training, beta grows by `rate` if on average fewer than `target` entries
    of a gradient were not zero, and falls by `rate` else. The average over the estimates forgets
    with the factor `decay`. So gradients can neither vanish nor saturate. With two sides it is the
    central difference

        (z(h + gamma + epsilon grad cost(z)) - z(h + gamma - epsilon grad cost(z))) / (2 epsilon).

    For linear costs its bias is O(epsilon) with one side, and O(epsilon^2) with two. For other
    costs the bias of linearising them stays. beta and the average are buffers: they are saved and
    resumed with the network.

    A sample costs one decode and its backward pass, and 3 argmaxes; with one side 2.

    Args:
        solver: name or object of `solvers`, or a `Structure`. For categories with pairwise scores
            it is one of `solvers.labels`; for other categories it is not used.
        samples: number of noise draws per image.
        sides: 1 or 2.
        target: number of nonzero entries of a gradient.
        start: the first beta.
        rate: the change of beta after an estimate, and its least value.
        decay: the weight of earlier estimates in the average, in [0, 1).

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1, `sides` is not 1 or 2, or
            another argument is outside its range.

    References:
        Minervini, Franceschi, Niepert (2023), Adaptive perturbation-based gradient estimation for
        discrete latent variable models.
    """

    beta: torch.Tensor
    mean_nonzero: torch.Tensor

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        samples: int = 1,
        sides: Sides = 2,
        target: float = 1.0,
        start: float = 1.0,
        rate: float = 1e-3,
        decay: float = 0.9,
    ):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        sides = one_of(sides, "sides", EstimatorError, (1, 2))
        target = positive_number(target, "target", EstimatorError)
        start = positive_number(start, "start", EstimatorError)
        rate = positive_number(rate, "rate", EstimatorError)
        decay = number(decay, "decay", EstimatorError, SHARE_BELOW_ONE, is_share_below_one)
        self.solver = checked_solver(solver)
        self.samples = samples
        self.sides = sides
        self.target = target
        self.rate = rate
        self.decay = decay
        self.register_buffer("beta", torch.tensor(start))
        self.register_buffer("mean_nonzero", torch.tensor(target))

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, options.samples, options.sides)

    def step_size(self, step: int, slope: torch.Tensor, potentials: AnyPotentials) -> torch.Tensor:
        """Return beta times the size of the scores over that of the gradients."""
        return self.beta * _mean_square(potentials.unary) / _mean_square(slope)

    def observe(self, moved: torch.Tensor) -> None:
        """Move beta towards the target, in training."""
        if not self.training or not moved.numel():
            return
        nonzero = moved.sum(dim=-1).float().mean()
        self.mean_nonzero.lerp_(nonzero.to(self.mean_nonzero), 1 - self.decay)
        change = torch.where(self.mean_nonzero < self.target, self.rate, -self.rate)
        self.beta.add_(change).clamp_(min=self.rate)


def _mean_square(values: torch.Tensor) -> torch.Tensor:
    """Return the root of the mean square of `values`; 1 if all are zero."""
    size = values.float().square().mean().sqrt()
    return torch.where(size > 0, size, 1.0)
