"""The score-function estimator."""

from __future__ import annotations

from typing import Self

import torch

from models.arguments import whole_number

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...spaces import StateSpace, Structure, as_space
from ..estimator import Compared, Estimate, Estimator
from ..options import EstimatorOptions


class ScoreFunction(Estimator):
    """The score-function estimator with a leave-one-out baseline: unbiased.

    It is E_q[(cost(z) - baseline) grad log q(z)], where the baseline of a sample is the mean
    cost of the other samples, and q is sampled exactly. The weights of an image's samples add up to
    zero, so that the partition function of a Gibbs distribution, which is the same for all of them,
    cancels, and only h is differentiated. The cost may be any function.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: number of samples per image, at least 2.
        structure: the space of the states, with `gibbs`; None for that of the potentials.

    Raises:
        EstimatorError: there are fewer than 2 samples.
        StructureError: `structure` is none; or it has no `gibbs`, which is raised when the
            estimator is used.

    References:
        Kool, van Hoof, Welling (2019), Buy 4 REINFORCE samples, get a baseline for free!
    """

    kl = "density"
    takes_any_density = True
    usual_samples = 4

    def __init__(self, samples: int = 4, structure: Structure | StateSpace | None = None):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError, 2)
        self.samples = samples
        if structure is not None:
            as_space(structure)  # raises unless it is one
        self.structure = structure

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("score function, 2 samples", lambda _: cls(2), has_setting=False),)

    @property
    def over(self) -> StateSpace | None:
        """The space of `structure`, or None."""
        if self.structure is None:
            return None
        return as_space(self.structure)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z = q.sample(generator, self.samples)
        costs = cost(z)
        fixed = costs.detach()
        weights = (fixed - fixed.mean(dim=0)) / (self.samples - 1)
        score = (weights * q.score(z)).sum(dim=0)
        score = self.once(score, q.potentials)
        return Estimate(score + costs.mean(dim=0), fixed.mean(dim=0), z)
