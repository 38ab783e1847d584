"""Implicit maximum likelihood: a second argmax along the gradient of the cost."""

from __future__ import annotations

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution, PerturbAndMAP
from ..distributions.argmax import AnySolver, argmax
from ..objectives.costs import Cost
from ..schedules import ExponentialDecay, Schedule, as_schedule
from ..spaces import StateSpace, Structure, as_space, is_structure
from ..spaces.of_potentials import unary_noise
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
    def over(self) -> StateSpace | None:
        """The space that stands in the place of a solver."""
        return as_space(self.solver) if is_structure(self.solver) else None

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return perturb-and-MAP by the solver."""
        return PerturbAndMAP(self._in_space(potentials), self._own_solver)

    @property
    def _own_solver(self) -> AnySolver:
        """The solver; "auto" where a space stands in its place."""
        return "auto" if is_structure(self.solver) else self.solver

    @property
    def argmaxes(self) -> int:
        """Two for every sample."""
        return 2 * self.samples

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        epsilon = self.epsilon(step)
        perturbed = potentials.detach().shifted(unary_noise(potentials, generator, self.samples))
        z = argmax(perturbed, self._own_solver)
        leaf = z.clone().requires_grad_()
        costs = cost(leaf)
        (slope,) = torch.autograd.grad(costs.sum(), leaf, retain_graph=True)
        slope, mark = usable_slope(slope)
        other = argmax(perturbed.shifted(-epsilon * slope), self._own_solver)
        change = mark * potentials.score_difference(z, other) / epsilon
        changed = (z != other).any(dim=-1).float().mean()
        cost_of = costs.detach().mean(dim=0)
        return Estimate((change + costs).mean(dim=0), cost_of, z, {"changed": changed})
