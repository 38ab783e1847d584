"""The estimator from a sparse distribution, over whose few states the cost is summed."""

from __future__ import annotations

from typing import Self

import torch

from models.arguments import whole_number

from ...distributions import Distribution
from ...distributions.argmax import AnySolver, checked_solver
from ...distributions.sparse_map import STEPS, sparse_map
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...schedules import Schedule, as_schedule
from ...spaces import Structure
from ..argmax.by_argmax import ByArgmax
from ..estimator import Estimate
from ..options import EstimatorOptions


class SparseMAP(ByArgmax):
    """The exact gradient of the expected cost under a sparse distribution: no variance, biased.

    The distribution p over states maximises `E_p[h(z)] - t / 2 |E_p[z]|^2` at a temperature t.
    It has a probability for at most n + 1 states where pairs have no scores, for one as the
    temperature goes to zero. The estimate is the gradient of

        sum_z p(z) cost(z),

    exact for this sum. As an estimate for the Gibbs distribution or for perturb-and-MAP it is
    biased: states outside the support count for nothing. The cost may be any function. A KL folded
    into the cost takes the scores h for log p. A model is evaluated with noise (perturb-and-MAP),
    or by the Gibbs distribution, not with the sparse distribution of training.

    A step costs one decode with a gradient for every state that has a probability, and one argmax
    for every state that was tried, at most `steps`. `z` holds the most probable states, and
    `stats` the mean number of states.

    Args:
        solver: name or object of `solvers`, or a `Structure`. For categories with pairwise scores
            it is one of `solvers.labels`; for other categories it is not used.
        temperature: a schedule, or a number; default: 1.
        steps: most argmaxes per image.

    Raises:
        EstimatorError: `steps` is not a whole number of at least 1.

    References:
        Niculae, Martins, Blondel, Cardie (2018), SparseMAP: differentiable sparse structured
        inference. Correia, Niculae, Aziz, Martins (2020), Efficient marginalization of discrete and
        structured latent variables via sparsity.
    """

    kl = "folded"

    def __init__(
        self,
        solver: AnySolver | Structure = "auto",
        temperature: Schedule | float = 1.0,
        steps: int = STEPS,
    ):
        super().__init__()
        steps = whole_number(steps, "steps", EstimatorError)
        self.solver = checked_solver(solver)
        self.temperature = as_schedule(temperature, "temperature")
        self.steps = steps

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.solver, options.temperature)

    @property
    def argmaxes(self) -> int:
        """The largest number of argmaxes."""
        return self.steps

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        temperature = self.temperature(step)
        sparse = sparse_map(q.potentials, self._solver_of_pairs, temperature, self.steps)
        expected = (sparse.probabilities * cost(sparse.states)).sum(dim=0)
        probabilities = sparse.probabilities.detach()
        places = probabilities.argmax(dim=0)[None, :, None]
        likely = sparse.states.gather(0, places.expand(-1, -1, sparse.states.shape[-1]))
        stats = {"states": (probabilities > 0).sum(dim=0).float().mean()}
        return Estimate(expected, expected.detach(), likely, stats)
