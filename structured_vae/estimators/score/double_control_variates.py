"""The estimator of double control variates, for leave-one-out score functions."""

from __future__ import annotations

from typing import Self

import torch
from torch import nn

from models.arguments import whole_number

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ..estimator import Estimate, Estimator
from ..options import EstimatorOptions
from .tuning import tracked_scores


class DoubleControlVariates(Estimator):
    """The leave-one-out score function of a cost less a linear model of it: unbiased.

    g = 1 / m sum_k (v_k - mean of the other v_j) grad log q(z_k) + alpha s . grad mu,

    v_k = cost(z_k) - alpha s_k . (z_k - mu),

    where s_k is the mean of the cost's gradients at the other samples, s that at all samples, and
    mu = E_q[z]. The linear model of a sample does not depend on that sample. Its exact gradient,
    s . grad mu, is added again. alpha starts at 1 and is trained by `tuning` to make the squared
    gradient in the scores small. The paper is about independent bits. Here the exact marginals of
    any Gibbs distribution take the place of their probabilities: categories, coupled bits, and
    structures with sums. The cost must be differentiable at states.

    A sample costs one decode with two backward passes, to the state and to the decoder, and no
    argmax.

    Args:
        samples: number m of samples per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Titsias, Shi (2022), Double control variates for gradient estimation in discrete latent
        variable models.
    """

    kl = "density"
    untransformable = "differentiates the cost itself"
    usual_samples = 2

    def __init__(self, samples: int = 2):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError, 2)
        self.samples = samples
        self.alpha = nn.Parameter(torch.tensor(1.0))

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z, costs, slopes = sampled_slopes(q, cost, generator, self.samples)
        fixed = costs.detach()
        mean = q.marginals[0]
        # A sample's control must not depend on that sample: leave one out keeps it unbiased.
        others = (slopes.sum(dim=0) - slopes) / (self.samples - 1)
        linear = (others * (z - mean.detach())).sum(dim=-1)
        scores = q.score(z)
        plain = (_centred(fixed) * scores).sum(dim=0)
        # The expectation of the linear control is known, and is added back as `path`.
        path = (slopes.mean(dim=0) * mean).sum(dim=-1)
        control = path - (_centred(linear) * scores).sum(dim=0)
        tuning = self._tuning(q, plain, control)
        score = plain + self.alpha.detach() * control
        score = self.once(score, q.potentials)
        surrogate = score + costs.mean(dim=0)
        return Estimate(surrogate, fixed.mean(dim=0), z, tuning=tuning)

    def _tuning(
        self, q: Distribution, plain: torch.Tensor, control: torch.Tensor
    ) -> torch.Tensor | float:
        """Return a loss whose gradient in alpha is that of the mean squared gradient.

        The gradient is linear in alpha: that of `plain` plus alpha times that of `control`.
        """
        scores = tracked_scores(q.potentials)
        if not self.training or not scores:
            return 0.0
        of_plain = torch.autograd.grad(plain.sum(), scores, retain_graph=True)
        of_control = torch.autograd.grad(control.sum(), scores, retain_graph=True)
        slope = torch.zeros_like(self.alpha)
        for constant, linear in zip(of_plain, of_control, strict=True):
            # The derivative of |g|^2 along alpha is 2 g times that of the control.
            whole = constant + self.alpha.detach() * linear
            slope = slope + 2 * (whole * linear).sum() / max(1, len(whole))
        # A product whose gradient in alpha is `slope`.
        return self.alpha * slope


def sampled_slopes(
    q: Distribution, cost: Cost, generator: torch.Generator, samples: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return samples of q, their costs and the gradients of the costs at the samples.

    The costs are differentiable for the decoder.
    """
    z = q.sample(generator, samples)
    point = z.clone().requires_grad_()
    with torch.enable_grad():
        costs = cost(point)
        (slopes,) = torch.autograd.grad(costs.sum(), point, retain_graph=True)
    return z, costs, slopes


def _centred(values: torch.Tensor) -> torch.Tensor:
    """Return the weights of samples: values less their leave-one-out means, over the number."""
    return (values - values.mean(dim=0)) / (len(values) - 1)
