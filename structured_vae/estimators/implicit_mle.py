"""Implicit maximum likelihood: a second argmax along the gradient of the cost."""

from __future__ import annotations

import torch

from models import AnyPotentials

from ..noise import unary_noise
from ..objectives.costs import Cost
from ..posteriors.argmax import AnySolver, argmax
from ..schedules import ExponentialDecay, Schedule, as_schedule
from ..structures import Structure, is_structure
from .changes import usable_slope
from .estimator import Estimate, Estimator, needs_samples


class ImplicitMLE(Estimator):
    """Biased: (z(h + gamma) - z(h + gamma - epsilon grad cost(z))) / epsilon.

    As `Direct`, but the cost is linearised by its gradient at the sample rather than by its change
    at every flip. That takes one backward pass instead of n decodes, and a cost that is
    differentiable at z; a gradient knows less of what a whole flip does.

    A sample costs one decode and its backward pass, and 2 argmaxes.

    Args:
        solver: name or object of `solvers`, or a `Structure`; of `solvers.labels` for categories
            with pairwise scores, and not used for others.
        epsilon: a number or a schedule; lambda in the paper; default: 0.1.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples.

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
        self.epsilon = (
            ExponentialDecay(start=0.1) if epsilon is None else as_schedule(epsilon, "epsilon")
        )
        self.samples = samples

    @property
    def over(self) -> Structure | None:
        """The structure that stands in the place of a solver."""
        return self.solver if is_structure(self.solver) else None

    @property
    def argmaxes(self) -> int:
        """Two for every sample."""
        return 2 * self.samples

    def _estimate(
        self, potentials: AnyPotentials, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        epsilon = self.epsilon(step)
        perturbed = potentials.detach().shifted(unary_noise(potentials, generator, self.samples))
        z = argmax(perturbed, self.solver)
        leaf = z.clone().requires_grad_()
        costs = cost(leaf)
        (slope,) = torch.autograd.grad(costs.sum(), leaf, retain_graph=True)
        slope, mark = usable_slope(slope)
        other = argmax(perturbed.shifted(-epsilon * slope), self.solver)
        change = mark * potentials.score_difference(z, other) / epsilon
        changed = (z != other).any(dim=-1).float().mean()
        cost_of = costs.detach().mean(dim=0)
        return Estimate((change + costs).mean(dim=0), cost_of, z, {"changed": changed})
