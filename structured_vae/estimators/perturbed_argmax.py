"""The smoothed argmax and its derivative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from models.potentials import AnyPotentials
from solvers import Problem, resolve
from solvers.labels import LabelSolver

from ..distributions import Distribution, PerturbAndMAP
from ..distributions.argmax import AnySolver, argmax
from ..errors import EstimatorError
from ..noise import gaussian
from ..objectives.costs import Cost
from ..spaces import StateSpace, Structure, as_space, is_structure, space_of
from .estimator import Estimate, Estimator, needs_samples


class PerturbedArgmax(Estimator):
    """Unbiased for the smoothed argmax y(h) = E[argmax(h + sigma xi)], xi Gaussian; not for E_q[cost].

    The cost is taken at the mean y of the samples, which is a relaxed state, and its gradient in y
    goes back through the derivative of y, E[z xi'] / sigma. The derivative is unbiased; its product
    with the gradient of the cost at the same samples' mean is so for a cost that is linear in y
    alone, and else O(1 / samples) off. So the cost must be differentiable at relaxed states. Every
    score gets noise, a pairwise one too, else its derivative would not be seen: solvers of
    supermodular problems alone will therefore refuse. `cost` is that of the mean.

    A model is evaluated with Gumbel noise on the unary scores (perturb-and-MAP), which is not the
    Gaussian noise of training; and a KL folded into the cost is taken at the relaxed mean, where it
    is no KL.

    A step costs one decode and its backward pass for all samples, and an argmax for each.

    Args:
        solver: name or object of `solvers`, or a `Structure`; of `solvers.labels` for categories
            with pairwise scores, and not used for others.
        sigma: of the noise, in units of scores.
        samples: noise draws an image, at least 2.

    Raises:
        EstimatorError: fewer samples, or sigma not positive.

    References:
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers, proposition 3.1.
    """

    kl = "folded"

    def __init__(
        self, solver: AnySolver | Structure = "auto", sigma: float = 1.0, samples: int = 8
    ):
        super().__init__()
        needs_samples(2, samples)
        if not sigma > 0:
            raise EstimatorError(f"sigma must be positive; got {sigma}")
        self.solver = solver
        self.sigma = sigma
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
        """One for every sample."""
        return self.samples

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """A solver that needs signs of the pairwise scores which noise does not keep; a structure, which takes none."""
        if is_structure(self.solver) or potentials.pairwise is None or potentials.edges is None:
            return super().why_not(potentials)
        if space_of(potentials).categorical or isinstance(self.solver, LabelSolver):
            return ()  # tables of every sign are what solvers of labels take
        # frustrated wherever there is a triangle
        noisy = -torch.ones(potentials.pairwise.shape[-1])
        unary = torch.zeros(potentials.unary.shape[-1])
        problem = Problem.from_arrays(unary, noisy, edges=potentials.edges.cpu())
        solver = resolve(self.solver, problem)
        return tuple(
            f"their pairwise scores get noise too, and solver '{solver.name}' cannot take that: {reason}"
            for reason in solver.why_not(problem)[:1]
        )

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        xi, perturbed = self._perturbed(potentials.detach(), generator)
        z = argmax(perturbed, self._own_solver)
        mean = z.mean(dim=0).requires_grad_()
        at_mean = cost(mean)
        (slope,) = torch.autograd.grad(at_mean.sum(), mean, retain_graph=True)
        gain = (z * slope).sum(dim=-1)
        # Any constant may be subtracted: xi has mean zero. The other samples' mean is one.
        weights = (gain - gain.mean(dim=0)) / ((self.samples - 1) * self.sigma)
        surrogate = at_mean
        for name, noise in xi.items():
            score: torch.Tensor = getattr(potentials, name)
            surrogate = surrogate + (weights[..., None] * noise * score).sum(dim=(0, -1))
        return Estimate(surrogate, at_mean.detach(), z)

    def _perturbed(
        self, potentials: AnyPotentials, generator: torch.Generator
    ) -> tuple[dict[str, torch.Tensor], AnyPotentials]:
        """The noise of every score `[samples, batch, ...]`, and the scores with sigma times it."""
        scores = {"unary": potentials.unary}
        if potentials.pairwise is not None:
            scores["pairwise"] = potentials.pairwise
        xi = {
            name: gaussian(values.expand(self.samples, *values.shape), generator)
            for name, values in scores.items()
        }
        moved: Any = {name: scores[name] + self.sigma * xi[name] for name in xi}
        return xi, replace(potentials, **moved)
