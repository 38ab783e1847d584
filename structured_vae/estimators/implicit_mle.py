"""The estimator of implicit maximum likelihood: a second argmax along the cost's gradient."""

from __future__ import annotations

from typing import Self

import torch

from ..distributions import Distribution
from ..distributions.argmax import AnySolver, argmax
from ..objectives.costs import Cost
from ..schedules import ExponentialDecay, Schedule, as_schedule
from ..spaces import Structure
from ..spaces.of_potentials import unary_noise
from .by_argmax import ByArgmax
from .changes import usable_slope
from .estimator import Estimate, needs_samples
from .options import EstimatorOptions


class ImplicitMLE(ByArgmax):
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

    kl = "folded"

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        epsilon: Schedule | float | None = None,
        samples: int = 1,
    ):
        super().__init__()
        needs_samples(1, samples)
        self.solver = solver
        if epsilon is None:
            epsilon = ExponentialDecay(start=0.1)
        self.epsilon = as_schedule(epsilon, "epsilon")
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, options.epsilon, options.samples)

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes: two for every sample."""
        return 2 * self.samples

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        epsilon = self.epsilon(step)
        perturbed = potentials.detach().shifted(unary_noise(potentials, generator, self.samples))
        z = argmax(perturbed, self._solver_of_pairs)
        leaf = z.clone().requires_grad_()
        costs = cost(leaf)
        (slope,) = torch.autograd.grad(costs.sum(), leaf, retain_graph=True)
        slope, mark = usable_slope(slope)
        other = argmax(perturbed.shifted(-epsilon * slope), self._solver_of_pairs)
        change = mark * potentials.score_difference(z, other) / epsilon
        changed = (z != other).any(dim=-1).float().mean()
        cost_of = costs.detach().mean(dim=0)
        return Estimate((change + costs).mean(dim=0), cost_of, z, {"changed": changed})
