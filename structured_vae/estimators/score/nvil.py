"""The estimator NVIL: the score function with a learnt baseline for each image."""

from __future__ import annotations

from typing import Self, cast

import torch
from torch import nn

from models.arguments import SHARE_BELOW_ONE, is_share_below_one, number, of_kind, whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ..estimator import Estimate, Estimator
from ..options import EstimatorOptions
from ..reasons import other_size


class NVIL(Estimator):
    """The NVIL estimator, with a baseline that is a function of the unary scores: unbiased.

    g = (cost(z) - C(h) - c) grad log q(z),

    where C is a small network and c the running mean of cost(z) - C(h). The scores h are a function
    of the image, so that C(h) is a baseline of that image. The paper's baseline sees the image
    itself, which an estimator does not get. The cost may be any function.

    With `normalise`, the gradient is divided by the running standard deviation of the learning
    signal, if that is above 1, as in the paper. Its direction is then still unbiased, but its
    length is not, so that a KL of its own gradient weighs more.

    Mean and variance are buffers. A step uses those of the steps before it, because the cost of a
    sample must not enter its own baseline. The first step uses the mean cost of the other images.
    The network and the buffers learn in training mode only.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        n: number of unary scores per image: binary variables, or categories.
        hidden: number of hidden units of the network.
        samples: number of samples per image.
        decay: share of the running mean and variance that a step keeps.
        normalise: whether to divide by the running standard deviation.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1, or `decay` is not in [0, 1).

    References:
        Mnih, Gregor (2014), Neural variational inference and learning in belief networks.
    """

    kl = "density"
    untransformable = "updates its baseline in every call"
    takes_any_density = True

    mean: torch.Tensor
    variance: torch.Tensor
    steps: torch.Tensor

    def __init__(
        self,
        n: int,
        hidden: int = 100,
        samples: int = 1,
        decay: float = 0.8,
        normalise: bool = False,
    ):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        n = whole_number(n, "n", EstimatorError)
        hidden = whole_number(hidden, "hidden", EstimatorError)
        decay = number(decay, "decay", EstimatorError, SHARE_BELOW_ONE, is_share_below_one)
        of_kind(normalise, "normalise", EstimatorError, bool, "True or False")
        self.samples = samples
        self.decay = decay
        self.normalise = normalise
        self.network = nn.Sequential(nn.Linear(n, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        # The baseline starts as zero, so an untrained network adds no noise.
        for parameter in self.network[-1].parameters():
            nn.init.zeros_(parameter)
        self.register_buffer("mean", torch.tensor(0.0))
        self.register_buffer("variance", torch.tensor(0.0))
        self.register_buffer("steps", torch.tensor(0))

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.n, samples=options.samples)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where n is not that of the network."""
        expected = cast("nn.Linear", self.network[0]).in_features
        return super().why_not(potentials) + other_size(potentials, expected, "NVIL")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z = q.sample(generator, self.samples)
        costs = cost(z)
        fixed = costs.detach()
        baseline = self.network(q.potentials.unary.detach()).squeeze(-1)
        above = fixed - baseline.detach()
        centre = self._centre(above)
        signal = above - centre
        if self.normalise:
            # Only large variances divide: a small signal is not blown up.
            signal = signal / self.variance.sqrt().clamp_min(1.0)
        score = (signal * q.log_prob(z)).mean(dim=0)
        score = self.once(score, q.potentials)
        surrogate = score + costs.mean(dim=0)
        tuning: torch.Tensor | float = 0.0
        if self.training and len(above[0]):
            # The baseline learns what the running mean leaves.
            tuning = (fixed - centre - baseline).square().mean()
            self._update(above)
        return Estimate(surrogate, fixed.mean(dim=0), z, tuning=tuning)

    def _centre(self, above: torch.Tensor) -> torch.Tensor:
        """Return the constant `[batch]` of the baseline, which does not depend on its image.

        Args:
            above: `[samples, batch]`, costs less what the network says.
        """
        images = above.mean(dim=0)
        others = torch.zeros_like(images)
        if len(images) > 1:
            others = (images.sum() - images) / (len(images) - 1)
        return torch.where(self.steps == 0, others, self.mean.to(others))

    @torch.no_grad()
    def _update(self, above: torch.Tensor) -> None:
        """Move the running mean and variance towards those of a batch."""
        kept = torch.where(self.steps == 0, 0.0, self.decay)
        self.mean.copy_(kept * self.mean + (1 - kept) * above.mean())
        variance = above.var(correction=0)
        self.variance.copy_(kept * self.variance + (1 - kept) * variance)
        self.steps += 1
