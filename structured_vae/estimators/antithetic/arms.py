"""The estimator ARMS: several samples of independent bits that avoid each other."""

from __future__ import annotations

import torch

from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...objectives.costs import Cost
from ..estimator import Estimate
from ..reasons import not_independent_bits
from ..sampled import Sampled
from .copula import antithetic_uniforms, both_below


class ARMS(Sampled):
    """The ARMS estimator of independent bits, with m antithetic samples: unbiased.

    g_i = 1 / (m - 1) sum_j (cost(z_j) - mean cost) z_ji / (1 - rho_i).

    It is the leave-one-out score function with a factor that makes up for the correlation rho_i of
    bit i in two samples. The m uniform numbers of a bit come from a Dirichlet copula, in which at
    most one of them is small. The rarer value of the bit, of probability t, is taken where they are
    small, which makes rho as negative as this copula can:

        rho = (max(0, 2 t^(1 / (m - 1)) - 1)^(m - 1) - t^2) / (t (1 - t)).

    With two samples it is DisARM. The cost may be any function.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: number m of samples per image, at least 2; None for the usual number.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Dimitriev, Zhou (2021), ARMS: antithetic-REINFORCE-multi-sample gradient for binary
        variables.
    """

    kl = "density"
    usual_samples = 4
    least = 2

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are pairwise scores or categories."""
        reasons = super().why_not(potentials)
        return reasons + not_independent_bits(potentials, "ARMS")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        unary = q.potentials.unary
        wide = unary.detach().double()
        like = wide.expand(self.samples, *wide.shape)
        # The rarer value has a probability of at most 1/2, which stays precise near 0.
        rare = (-wide.abs()).sigmoid()
        is_rare = antithetic_uniforms(like, generator) < rare
        z = torch.where(wide > 0, ~is_rare, is_rare).to(unary.dtype)
        costs = cost(z)
        fixed = costs.detach()
        # (f - mean) / (S - 1) is (f - mean of the others) / S: the leave-one-out baseline.
        weights = (fixed - fixed.mean(dim=0)) / (self.samples - 1)
        # The samples of a bit are correlated; the factor
        # makes up for what that takes from the mean.
        gradient = (weights[..., None] * z).sum(dim=0) * self._factor(rare).to(unary.dtype)
        linear = (unary * gradient).sum(dim=-1)
        linear = self.once(linear, q.potentials)
        return Estimate(linear + costs.mean(dim=0), fixed.mean(dim=0), z)

    def _factor(self, rare: torch.Tensor) -> torch.Tensor:
        """Return 1 / (1 - rho) of bits whose rarer value has the probability `rare`."""
        least = rare.clamp_min(torch.finfo(rare.dtype).tiny)
        return (1 - least) / (1 - both_below(least, least, self.samples) / least)
