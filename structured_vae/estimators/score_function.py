"""The score-function estimator."""

from __future__ import annotations

import torch

from ..distributions import Distribution
from ..objectives.costs import Cost
from ..spaces import StateSpace, Structure, as_space
from .estimator import Estimate, Estimator, needs_samples


class ScoreFunction(Estimator):
    """Unbiased: E_q[(cost(z) - baseline) grad log q(z)], the baseline being the other samples' mean.

    q is the Gibbs distribution, sampled exactly. The weights of an image's samples add up to zero,
    so that the partition function, which is the same for all of them, cancels: only h is
    differentiated. The cost may be any function.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: an image, at least 2.
        structure: the space of the states, with `gibbs`; None for that of the potentials.

    Raises:
        EstimatorError: fewer samples.
        StructureError: when it is asked: the structure has no `gibbs`.

    References:
        Kool, van Hoof, Welling (2019), Buy 4 REINFORCE samples, get a baseline for free!
    """

    kl = "exact"

    def __init__(self, samples: int = 4, structure: Structure | StateSpace | None = None):
        super().__init__()
        needs_samples(2, samples)
        self.samples = samples
        self.structure = structure

    @property
    def over(self) -> StateSpace | None:
        """The space that was given."""
        return None if self.structure is None else as_space(self.structure)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z = q.sample(generator, self.samples)
        costs = cost(z)
        fixed = costs.detach()
        weights = (fixed - fixed.mean(dim=0)) / (self.samples - 1)
        score = (weights * q.potentials.score(z)).sum(dim=0)
        return Estimate(score + costs.mean(dim=0), fixed.mean(dim=0), z)
