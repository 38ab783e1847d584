"""The estimator CARMS: several samples of categories that avoid each other."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import torch

from models.potentials import AnyPotentials
from models.states import codes_of, of_variables

from ...distributions import Distribution
from ...noise import random_numbers
from ...objectives.costs import Cost
from ...spaces import space_of
from ..estimator import Estimate
from ..reasons import not_categories, not_factorised
from ..sampled import Sampled
from .copula import antithetic_uniforms, both_below_of_roots

IMPOSSIBLE: Final = 1e-12
"""Values of a variable that are less probable than this are never drawn."""


class CARMS(Sampled):
    """The CARMS estimator of independent categories, with m antithetic samples: unbiased.

    For a variable with probabilities p, and one-hot vectors e of its values a_i in the samples,

    g = 1 / (m (m - 1)) sum_(i < j) (cost(z_i) - cost(z_j)) w(a_i, a_j) (e(a_i) - e(a_j)),

    w(a, b) = p(a) p(b) / P(a_i = a, a_j = b).

    It is the leave-one-out score function, weighted by how much less often two independent samples
    would have these two values. The m uniform numbers of a variable come from a Dirichlet copula,
    and their values from the inverse of its distribution function. The order of the values is drawn
    too: of any two values, one comes first and the other last, and the others lie between as on a
    circle. So any two different values can occur together, which w needs. P is exact, the mean over
    these k (k - 1) / 2 orders. The authors' code limits w to [0.01, 10], which brings a bias; here
    w is not limited.

    The cost may be any function. A sample costs one decode with a gradient for the decoder, and no
    argmax. P takes k (k - 1) / 2 numbers for each variable and pair of samples.

    Args:
        samples: number m of samples per image, at least 2; None for the usual number.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Dimitriev, Zhou (2021), CARMS: categorical-antithetic-REINFORCE multi-sample gradient
        estimator.
    """

    kl = "density"
    usual_samples = 4
    least = 2

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are bits or pairwise scores."""
        reasons = super().why_not(potentials)
        reasons += not_categories(potentials, "CARMS")
        return reasons + not_factorised(potentials, "CARMS")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        unary = q.potentials.unary
        variables = space_of(q.potentials).variable_count(unary.shape[-1])
        p = of_variables(unary.detach().double(), variables).softmax(dim=-1)
        labels = _antithetic_labels(p, self.samples, generator)
        z = codes_of(labels, p.shape[-1]).to(unary.dtype)
        costs = cost(z)
        gradient = _gradient(p, labels, costs.detach().double())
        gradient = gradient.flatten(-2).to(unary.dtype)
        linear = (unary * gradient).sum(dim=-1)
        linear = self.once(linear, q.potentials)
        return Estimate(linear + costs.mean(dim=0), costs.detach().mean(dim=0), z)


def _antithetic_labels(p: torch.Tensor, samples: int, generator: torch.Generator) -> torch.Tensor:
    """Return values `[samples, batch, variables]` of probabilities `p [batch, variables, k]`."""
    k = p.shape[-1]
    # A variable of one value has no order of values, and nothing to draw.
    if k == 1:
        return torch.zeros((samples, *p.shape[:-1]), dtype=torch.long, device=p.device)
    shape = p.shape[:-1]
    orders = _orders(k, p.device)
    drawn = random_numbers(torch.randint, len(orders), shape, generator=generator, device=p.device)
    first = orders[drawn, 0]
    last = orders[drawn, 1]
    values = torch.arange(k, device=p.device)
    starts = _starts(p, values.expand(p.shape), first[..., None], last[..., None])
    # The value of u is the one that starts last among those that start below it. Intervals that
    # rounding may close are no candidates.
    starts = starts.masked_fill(p < IMPOSSIBLE, torch.inf)
    u = antithetic_uniforms(p[..., 0].expand(samples, *shape), generator)
    below = starts <= u[..., None]
    return torch.where(below, starts, -1.0).argmax(dim=-1)


def _starts(
    p: torch.Tensor, values: torch.Tensor, first: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """Return where the interval of each value begins, for an order with `first` and `last`.

    Args:
        p: `[batch, variables, k]`.
        values: `[batch, variables, m]`, the values that are asked for.
        first: value that comes first, `[..., batch, variables, 1]`.
        last: value that comes last, likewise.
    """
    k = p.shape[-1]
    before = p.cumsum(dim=-1) - p
    p_first = p.expand(*first.shape[:-1], k).gather(-1, first)
    p_last = p.expand(*last.shape[:-1], k).gather(-1, last)
    behind_last = before.expand(*last.shape[:-1], k).gather(-1, last) + p_last
    # The circle is entered behind the last value, and begins again at value 0.
    starts = before.gather(-1, values) - behind_last + torch.where(values < last, 1.0, 0.0)
    # The first value has moved to the front of those that it would follow.
    passed = (first - last) % k > (values - last) % k
    starts = starts + torch.where(passed, p_first, 0.0)
    starts = torch.where(values == first, 0.0, starts)
    return torch.where(values == last, 1 - p_last, starts).clamp(0.0, 1.0)


def _gradient(p: torch.Tensor, labels: torch.Tensor, costs: torch.Tensor) -> torch.Tensor:
    """Return the gradient `[batch, variables, k]` in the scores.

    Args:
        p: `[batch, variables, k]`.
        labels: `[samples, batch, variables]`.
        costs: `[samples, batch]`.
    """
    samples = len(labels)
    values = labels.movedim(0, -1)
    chosen = p.gather(-1, values)
    orders = _orders(p.shape[-1], p.device)
    first = orders[:, 0].reshape(-1, 1, 1, 1).expand(-1, *p.shape[:-1], 1)
    last = orders[:, 1].reshape(-1, 1, 1, 1).expand(-1, *p.shape[:-1], 1)
    starts = _starts(p, values, first, last)
    # The joint distribution of two antithetic uniforms is a function of these roots.
    root = 1 / (samples - 1)
    low = starts**root
    high = (starts + chosen).clamp_max(1.0) ** root
    gradient = torch.zeros_like(p)
    for i, j in combinations(range(samples), 2):
        # The probability of two intervals is that of a rectangle, from its four corners.
        corners = [
            both_below_of_roots(high[..., i], high[..., j], samples),
            both_below_of_roots(low[..., i], low[..., j], samples),
            -both_below_of_roots(high[..., i], low[..., j], samples),
            -both_below_of_roots(low[..., i], high[..., j], samples),
        ]
        joint = torch.stack(corners).sum(dim=0).mean(dim=0)
        # p(a) p(b) / joint weights a pair as if the two samples were independent.
        ratio = chosen[..., i] * chosen[..., j] / joint.clamp_min(torch.finfo(p.dtype).tiny)
        # Two equal values have the same score, so they give no direction.
        differ = values[..., i] != values[..., j]
        change = torch.where(differ, (costs[i] - costs[j])[:, None] * ratio, 0.0)[..., None]
        gradient = gradient.scatter_add(-1, values[..., i : i + 1], change)
        gradient = gradient.scatter_add(-1, values[..., j : j + 1], -change)
    return gradient / (samples * (samples - 1))


def _orders(k: int, device: torch.device) -> torch.Tensor:
    """Return the first and the last value of each order, `[k (k - 1) / 2, 2]`."""
    return torch.triu_indices(k, k, 1, device=device).T
