"""The estimator RODEO: control variates for score functions, by a discrete Stein operator."""

from __future__ import annotations

from typing import Self

import torch
from torch import nn

from models.arguments import whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...spaces import space_of
from ..estimator import Estimate, Estimator
from ..options import EstimatorOptions
from .double_control_variates import sampled_slopes
from .tuning import squared_gradient_loss, tracked_scores


class RODEO(Estimator):
    """The RODEO estimator of bits, with control variates by a Stein operator: unbiased.

    The Gibbs Stein operator makes a function of mean zero of any function f:

        (A f)(z) = sum_i q(bit i flipped | other bits) (f(z with bit i flipped) - f(z)).

    For bits it is the Barker operator too. Every sample k gets

        g_k = (cost(z_k) - mean of the other v_j) grad log q(z_k) + A(b_k grad log q)(z_k),

        v_j = cost(z_j) + (A a_j)(z_j),

    and g is their mean. The surrogates a_k and b_k of the cost do not depend on sample k. They are
    made of the gradients s_j of the cost at the other samples, so that no further decodes are
    needed:

        a_k(y) = mean over j of alpha s_j . (y - mu) + H_1(cost(z_j), s_j . (y - z_j)),

        b_k(y) = mean over j of beta s_j . (y - mu) + H_2(cost(z_j), s_j . (y - z_j)).

    H is a small network, the paper's surrogate, whose last layer starts at zero. The linear terms
    are added here. mu is E_q[z], or the mean of the other samples where that is not known. With
    alpha = 1 and beta = 1/2, where they start, a linear cost of independent bits leaves little
    variance before anything is learnt. `tuning` trains network, alpha and beta to make the squared
    gradient in the scores small. Coupled bits and autoregressive posteriors are possible, since the
    probabilities of their flips are known. The cost must be differentiable at states.

    A sample costs one decode with two backward passes, to the state and to the decoder, and no
    argmax. The network takes samples (samples - 1) (n + 1) pairs of numbers per image.

    Args:
        samples: number of samples per image, at least 2.
        hidden: number of hidden units of the network, 100 in the paper; 0 for no network.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Shi, Zhou, Hwang, Titsias, Mackey (2022), Gradient estimation with discrete Stein operators.
    """

    kl = "density"
    untransformable = "differentiates the cost itself"
    usual_samples = 2
    takes_any_density = True

    def __init__(self, samples: int = 2, hidden: int = 20):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError, 2)
        hidden = whole_number(hidden, "hidden", EstimatorError, 0)
        self.samples = samples
        self.alpha = nn.Parameter(torch.tensor(1.0))
        self.beta = nn.Parameter(torch.tensor(0.5))
        self.network: nn.Module | None = None
        if hidden:
            # The network starts as zero, so that training begins with the linear control.
            last = nn.Linear(hidden, 2)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            self.network = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(0.3), last)

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where a flip of a bit may leave the space."""
        reasons = super().why_not(potentials)
        space = space_of(potentials)
        if space.free_flips:
            return reasons
        return (*reasons, f"they are of {space}, and RODEO is made for all states of n bits")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z, costs, slopes = sampled_slopes(q, cost, generator, self.samples)
        fixed = costs.detach()
        log_q = q.log_prob(z)
        ratios = q.flip_log_ratios(z)
        with torch.enable_grad():
            of_samples, of_flips = self._weights(q, z, fixed, slopes, ratios.detach())
        tuning = self._tuning(q, _weighted(of_samples, of_flips, log_q, ratios))
        score = _weighted(of_samples.detach(), of_flips.detach(), log_q, ratios)
        score = self.once(score, q.potentials)
        return Estimate(score + costs.mean(dim=0), fixed.mean(dim=0), z, tuning=tuning)

    def _weights(
        self,
        q: Distribution,
        z: torch.Tensor,
        costs: torch.Tensor,
        slopes: torch.Tensor,
        ratios: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the factors of log q `[samples, batch]` and of its changes by flips.

        They are functions of the parameters. Those of flips are `[samples, batch, n]`.
        """
        count = self.samples
        # The probability that a bit takes its other value, the other bits being as they are.
        rates = ratios.sigmoid()
        at_z, at_flips = self._surrogates(q, z, costs, slopes)
        # Stein's operator: flips at their rates. Its mean under q is zero for any function.
        stein = (rates[..., None] * (at_flips - at_z[..., None, :])).sum(dim=-2)
        adjusted = costs + stein[..., 0]
        # Leave one out: the baseline must not depend on its own sample.
        baselines = (adjusted.sum(dim=0) - adjusted) / (count - 1)
        of_samples = costs - baselines + stein[..., 1]
        # A(b grad log q) has grad log q at the flips, which is that at z plus that of the change.
        of_flips = rates * at_flips[..., 1]
        return of_samples / count, of_flips / count

    def _surrogates(
        self, q: Distribution, z: torch.Tensor, costs: torch.Tensor, slopes: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a and b at the samples `[samples, batch, 2]`, and at their flips.

        Those at the flips are `[samples, batch, n, 2]`.
        """
        count = self.samples
        signs = 1 - 2 * z
        factors = torch.stack([self.alpha, self.beta])
        # Leave one out, for the same reason as the baselines.
        others = (slopes.sum(dim=0) - slopes) / (count - 1)
        linear = (others * (z - self._centre(q, z))).sum(dim=-1)
        at_z = linear[..., None] * factors
        at_flips = (linear[..., None] + others * signs)[..., None] * factors
        if self.network is None:
            return at_z, at_flips
        for shift in range(1, count):
            # Sample k gets the Taylor expansion around sample k + shift, modulo their number.
            slope = slopes.roll(-shift, dims=0)
            at = z.roll(-shift, dims=0)
            cost = costs.roll(-shift, dims=0)
            change = (slope * (z - at)).sum(dim=-1)
            changes = change[..., None] + slope * signs
            at_z = at_z + _of_network(self.network, cost, change) / (count - 1)
            at_flips = at_flips + _of_network(self.network, cost[..., None], changes) / (count - 1)
        return at_z, at_flips

    def _centre(self, q: Distribution, z: torch.Tensor) -> torch.Tensor:
        """Return the mean state that each sample is compared with, independent of the sample.

        Where q has no marginals, the mean of the other samples takes their place.
        """
        if q.tractable:
            return q.marginals[0].detach()
        return (z.sum(dim=0) - z) / (self.samples - 1)

    def _tuning(self, q: Distribution, surrogate: torch.Tensor) -> torch.Tensor | float:
        """Return a loss that makes the squared gradient in the scores small."""
        scores = tracked_scores(q.potentials)
        if not self.training or not scores:
            return 0.0
        gradients = torch.autograd.grad(surrogate.sum(), scores, create_graph=True)
        return squared_gradient_loss(list(self.parameters()), gradients)


def _weighted(
    of_samples: torch.Tensor, of_flips: torch.Tensor, log_q: torch.Tensor, ratios: torch.Tensor
) -> torch.Tensor:
    """Return the surrogate `[batch]` with these factors of log q and of its changes by flips."""
    return (of_samples * log_q).sum(dim=0) + (of_flips * ratios).sum(dim=(0, 2))


def _of_network(network: nn.Module, cost: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """Return `[..., 2]` of costs and their changes `[...]`, which enter in units of the costs."""
    scale = cost.abs() + 1
    inputs = torch.stack([(cost / scale).expand_as(change), change / scale], dim=-1)
    values: torch.Tensor = network(inputs)
    return values
