"""The estimator from the smoothed argmax and its derivative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import torch

from models.arguments import positive_number, whole_number
from models.potentials import AnyPotentials
from solvers import Problem
from solvers.labels import LabelSolver
from solvers.solving.selection import resolve

from ...distributions import Distribution
from ...distributions.argmax import AnySolver, argmax, checked_solver
from ...errors import EstimatorError
from ...noise import gaussian
from ...objectives.costs import Cost
from ...spaces import Structure, is_structure, space_of
from ..estimator import Estimate
from ..options import EstimatorOptions
from .by_argmax import ByArgmax


class PerturbedArgmax(ByArgmax):
    """The perturbed-argmax estimator: unbiased for the smoothed argmax, biased for E_q[cost].

    The smoothed argmax is y(h) = E[argmax(h + sigma xi)] with Gaussian xi. The cost is taken at the
    mean y of the samples, a relaxed state, where it must be differentiable. Its gradient in y goes
    back through the derivative of y, E[z xi'] / sigma. The derivative is unbiased. Its product with
    the gradient of the cost at the same samples' mean is unbiased for a cost that is linear in y;
    for other costs the bias is O(1 / samples). Every score gets noise, pairwise ones too, since
    their derivative would otherwise be lost. So a solver that takes supermodular problems only
    refuses. `cost` is that of the mean.

    A model is evaluated with Gumbel noise on the unary scores (perturb-and-MAP), not with the
    Gaussian noise of training. A KL folded into the cost is taken at the relaxed mean, where it is
    not a KL.

    A step costs one decode and its backward pass for all samples, and one argmax per sample.

    Args:
        solver: name or object of `solvers`, or a `Structure`. For categories with pairwise scores
            it is one of `solvers.labels`; for other categories it is not used.
        sigma: standard deviation of the noise, in units of scores.
        samples: number of noise draws per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples, or sigma is not positive.

    References:
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers, proposition 3.1.
    """

    kl = "folded"
    usual_samples = 8

    def __init__(
        self, solver: AnySolver | Structure = "auto", sigma: float = 1.0, samples: int = 8
    ):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError, 2)
        sigma = positive_number(sigma, "sigma", EstimatorError)
        self.solver = checked_solver(solver)
        self.sigma = sigma
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, samples=options.samples)

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes: one for every sample."""
        return self.samples

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where the solver needs signs of pairwise scores, which noise changes."""
        reasons = super().why_not(potentials)
        if is_structure(self.solver) or potentials.pairwise is None or potentials.edges is None:
            return reasons
        if space_of(potentials).categorical or isinstance(self.solver, LabelSolver):
            return reasons  # solvers of labels take tables of every sign
        # These scores are frustrated wherever there is a triangle.
        noisy = -torch.ones(potentials.pairwise.shape[-1])
        unary = torch.zeros(potentials.unary.shape[-1])
        problem = Problem.from_arrays(unary, noisy, edges=potentials.edge_array())
        solver = resolve(self.solver, problem)
        return reasons + tuple(
            "their pairwise scores get noise too, "
            f"and solver '{solver.name}' cannot take that: {reason}"
            for reason in solver.why_not(problem)[:1]
        )

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        xi, perturbed = self._perturbed(potentials.detach(), generator)
        z = argmax(perturbed, self._solver_of_pairs)
        mean = z.mean(dim=0).requires_grad_()
        at_mean = cost(mean)
        (slope,) = torch.autograd.grad(at_mean.sum(), mean, retain_graph=True)
        gain = (z * slope).sum(dim=-1)
        # Any constant may be subtracted: xi has mean zero. The other samples' mean is one.
        weights = (gain - gain.mean(dim=0)) / ((self.samples - 1) * self.sigma)
        surrogate = at_mean
        for name, noise in xi.items():
            score: torch.Tensor = getattr(potentials, name)
            linear = (weights[..., None] * noise * score).sum(dim=(0, -1))
            surrogate = surrogate + self.once(linear, potentials)
        return Estimate(surrogate, at_mean.detach(), z)

    def _perturbed(
        self, potentials: AnyPotentials, generator: torch.Generator
    ) -> tuple[dict[str, torch.Tensor], AnyPotentials]:
        """Return the noise of every score `[samples, batch, ...]`, and the perturbed scores."""
        scores = {"unary": potentials.unary}
        if potentials.pairwise is not None:
            scores["pairwise"] = potentials.pairwise
        xi = {
            name: gaussian(values.expand(self.samples, *values.shape), generator)
            for name, values in scores.items()
        }
        moved: Any = {name: scores[name] + self.sigma * xi[name] for name in xi}
        return xi, replace(potentials, **moved)
