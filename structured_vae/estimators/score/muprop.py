"""The estimator MuProp: the score function less a linear model of the cost."""

from __future__ import annotations

import torch

from ...distributions import Distribution
from ...objectives.costs import Cost
from ..estimator import Estimate
from ..sampled import Sampled


class MuProp(Sampled):
    """The MuProp estimator, with the cost's Taylor expansion at the mean state: unbiased.

    g = (cost(z) - cost(mu) - s . (z - mu)) grad log q(z) + s . grad mu,

    where mu = E_q[z] is the mean state, and s the gradient of the cost at mu. The linear model of
    the cost has the exact gradient s . grad mu, which is added again. A linear cost leaves no
    variance. The paper is about independent bits, for which mu is the mean field. Here the exact
    marginals of any Gibbs distribution take its place: categories, coupled bits, and structures
    with sums. The cost must be differentiable between states.

    An estimate costs one decode of mu with a backward pass to it, and for each sample one decode
    with a gradient for the decoder; no argmax.

    Args:
        samples: number of samples per image; None for the usual number.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Gu, Levine, Sutskever, Mnih (2016), MuProp: unbiased backpropagation for stochastic neural
        networks.
    """

    kl = "density"
    untransformable = "differentiates the cost itself"

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        mean = q.marginals[0]
        point = mean.detach().requires_grad_()
        with torch.enable_grad():
            at_mean = cost(point[None])[0]
            (slope,) = torch.autograd.grad(at_mean.sum(), point)
        z = q.sample(generator, self.samples)
        costs = cost(z)
        fixed = costs.detach()
        # The first-order Taylor expansion of the cost at the mean is the control.
        linear = at_mean.detach() + (slope * (z - point.detach())).sum(dim=-1)
        score = ((fixed - linear) * q.log_prob(z)).mean(dim=0)
        # Its expectation is linear in the mean: what the score term lacks comes back here, exactly.
        path = (slope * mean).sum(dim=-1)
        score = self.once(score + path, q.potentials)
        return Estimate(score + costs.mean(dim=0), fixed.mean(dim=0), z)
