"""The estimators from relaxed samples of structures: marginals of perturbed scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Self

import torch

from models.arguments import whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution, Gibbs
from ...distributions.argmax import AnySolver, argmax, checked_solver
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...schedules import ExponentialDecay, Schedule, as_schedule
from ...spaces import Structure
from ...spaces.of_potentials import unary_noise
from ..argmax.by_argmax import ByArgmax
from ..estimator import Estimate
from ..options import EstimatorOptions


class RelaxedArgmax(ByArgmax, ABC):
    """The base of estimators with relaxed samples, the marginals of (h + gamma) / temperature.

    Args:
        solver: name or object of `solvers`, or a `Structure`, for the argmax of h + gamma.
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.
    """

    kl = "folded"

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        temperature: Schedule | float | None = None,
        samples: int = 1,
    ):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        self.solver = checked_solver(solver)
        if temperature is None:
            temperature = ExponentialDecay()
        self.temperature = as_schedule(temperature, "temperature")
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, options.temperature, options.samples)

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes: one for every sample."""
        return self.samples

    @abstractmethod
    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the states `[samples, batch, n]` to decode, from relaxed and hard samples."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where the space has no sums, or takes no pairs and there are some."""
        return super().why_not(potentials) + Gibbs.why_not(self._in_space(potentials))

    def summed(self, potentials: AnyPotentials) -> Distribution:
        """Return the Gibbs distribution, whose marginals are the relaxed states."""
        return Gibbs(self._in_space(potentials))

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        perturbed = potentials.shifted(unary_noise(potentials, generator, self.samples))
        hard = argmax(perturbed, self._solver_of_pairs)
        soft = _marginals(perturbed, self.temperature(step))
        costs = cost(self.decoded(soft, hard)).mean(dim=0)
        return Estimate(costs, costs.detach(), hard)


class StochasticSoftmax(RelaxedArgmax):
    """The stochastic softmax trick, the gradient at the marginals of noisy scores: biased.

    z = E[z' | p(z') = exp((h + gamma)(z') / temperature) / Z], the vector of the probabilities that
    z'_i = 1, is `GumbelSoftmax` for any space with sums: subsets, paths, trees, chains. As the
    temperature goes to zero, z becomes the argmax of h + gamma, and the bias for E[cost(argmax(h +
    gamma))] vanishes. In structures this is the mean under perturb-and-MAP, not under the Gibbs
    distribution. The cost must be differentiable at relaxed states. A KL folded into the cost is
    taken at the relaxed state, where it is not a KL. `z` holds the hard states, `cost` the cost of
    the relaxed ones.

    A sample costs one decode and its backward pass, one pass of sums over the states, and one
    argmax.

    Args:
        solver: name or object of `solvers`, or a `Structure`, for the argmax of h + gamma.
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Paulus, Choi, Tarlow, Krause, Maddison (2020), Gradient estimation with stochastic softmax
        tricks, with the entropy of the Gibbs distribution as regulariser.
    """

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the relaxed samples."""
        return soft


class StochasticStraightThrough(RelaxedArgmax):
    """The straight-through form of the stochastic softmax trick, at the argmax itself: biased.

    It is `StochasticSoftmax`, but the decoder sees z = argmax(h + gamma). The gradient in z
    continues as if z were the marginals of (h + gamma) / temperature. So the cost is that of
    states, and must be differentiable there. It is biased at every temperature. It is
    `StraightThrough` for any space with sums.

    A sample costs one decode and its backward pass, one pass of sums over the states, and one
    argmax.

    Args:
        solver: name or object of `solvers`, or a `Structure`, for the argmax of h + gamma.
        temperature: a schedule, or a number.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Paulus, Choi, Tarlow, Krause, Maddison (2020), Gradient estimation with stochastic softmax
        tricks.
    """

    def decoded(self, soft: torch.Tensor, hard: torch.Tensor) -> torch.Tensor:
        """Return the hard samples, with the gradient of the relaxed ones."""
        return hard + (soft - soft.detach())


def _marginals(potentials: AnyPotentials, temperature: float) -> torch.Tensor:
    """Return the marginals `[samples, batch, n]` of scores / temperature, differentiable.

    Args:
        potentials: scores `[samples, batch, n]` of variables, and `[batch, e]` of pairs.
        temperature: the temperature.
    """
    shape = potentials.unary.shape
    pairwise = potentials.pairwise
    if pairwise is not None:
        repeated = pairwise.expand(shape[0], *pairwise.shape)
        pairwise = repeated.flatten(0, 1) / temperature
    # Sums over states take one leading dimension.
    unary = potentials.unary.flatten(0, 1) / temperature
    marginals, _ = Gibbs(replace(potentials, unary=unary, pairwise=pairwise)).marginals
    return marginals.reshape(shape)
