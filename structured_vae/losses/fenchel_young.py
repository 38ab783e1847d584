"""The perturbed Fenchel-Young loss, the expected perceptron loss of noisy scores."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from models import Potentials
from models.arguments import positive_number
from solvers import ArgmaxSolver
from solvers.constraints import Constraint

from ..errors import ConfigError
from ..noise import checked_draws, gaussian
from ..spaces import Structure
from .structured_loss import StructuredLoss, sampled


class PerturbedFenchelYoung(StructuredLoss):
    """The perturbed Fenchel-Young loss E[max_z h(z) + sigma g.z] - h(y), with Gaussian noise g.

    The noise is added to every unary score.

    Gradient: E[s(z*(g))] - s(y). The mean over `samples` draws estimates the expectation; loss and
    gradient are unbiased. The loss is convex in the scores, smooth, and at least the perceptron
    loss. Up to a constant that depends on y, it is the Fenchel-Young loss of the regulariser that
    the noise defines, which is strictly convex. If the scores are much larger than sigma, it
    approaches the perceptron loss. Costs one argmax per sample.

    The value computed from a draw is max_z [h(z) + sigma g.z] - h(y) - sigma g.y, which has the
    same mean and is never negative. Noise on the pairwise scores as well could make it negative.

    Args:
        solver: as for every `StructuredLoss`.
        sigma: the scale of the noise, in units of scores.
        samples: the number of noise draws per instance.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: `sigma` is not positive, or `samples` is not a whole number of at least 1.

    References:
        Blondel, Martins, Niculae (2020), Learning with Fenchel-Young losses.
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers, section 4.
    """

    shown = ("sigma", "samples")

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        sigma: float = 1.0,
        samples: int = 1,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, constraints=constraints)
        self.sigma = positive_number(sigma, "sigma", ConfigError)
        self.samples = checked_draws(samples)

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        potentials = sampled(potentials, "PerturbedFenchelYoung")
        like = potentials.unary
        noise = self.sigma * gaussian(like.expand(self.samples, *like.shape), generator)
        z = self.maximise(potentials.shifted(noise))
        return (potentials.score_difference(z, y) + (noise * (z - y)).sum(dim=-1)).mean(dim=0)
