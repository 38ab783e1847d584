"""The unordered set estimator: the score function of samples without replacement."""

from __future__ import annotations

from math import comb
from typing import Self

import torch

from models.arguments import whole_number

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ..estimator import Estimate, Estimator
from ..options import EstimatorOptions

MOST_SAMPLES = 12
"""Most samples, since the ratios take all subsets of them."""


class UnorderedSet(Estimator):
    """The unordered set estimator, of m different states: unbiased.

    The set S has m states drawn without replacement. With P_D(S) the probability of such a set, in
    any order, among the states D,

    g = sum over s in S of q(s) R(s) (cost(s) - b(s)) grad log q(s),

    R(s) = P_(D - s)(S - s) / P_D(S),

    b(s) = sum over t in S of q(t) R(s, t) cost(t), R(s, t) = P_(D - s - t)(S - s - t) /
    P_(D - s)(S - s), R(s, s) = 1.

    It is the mean of the score function with leave-one-out baselines over all orders in which S
    could have been drawn. No decode is spent on a state that was seen before, which helps where few
    states are probable. Where S has all states, the gradient is exact. The ratios
    are exact, by sums over the 2^m subsets of S. The cost may be any function.

    Few states are listed, and perturbed by Gumbel noise; states of independent variables come from
    a stochastic beam search over the variables. Of coupled bits and of structures with more than
    512 states the search takes sums with clamped variables, one for each variable, of m instances
    per image.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: number m of different states per image, from 2 to 12; all states where there are no
            more.

    Raises:
        EstimatorError: there are fewer than 2 samples, or more than 12.

    References:
        Kool, van Hoof, Welling (2020), Estimating gradients for discrete random variables by
        sampling without replacement. Kool, van Hoof, Welling (2019), Stochastic
        beams and where to find them: the Gumbel-top-k trick for sampling sequences without
        replacement.
    """

    kl = "density"
    usual_samples = 4
    takes_any_density = True

    def __init__(self, samples: int = 4):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError, 2, MOST_SAMPLES)
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        # With no more states than samples, the set has all of them.
        count = int(min(self.samples, q.potentials.state_count))
        z = q.sample_distinct(generator, count)
        p = q.log_prob(z).detach().double().exp()
        costs = cost(z)
        fixed = costs.detach().double()
        shares, of_others = leave_one_out_shares(p)
        baselines = (of_others * fixed).sum(dim=1)
        weights = (shares * (fixed - baselines)).to(costs.dtype)
        # The weights add up to zero, so that log Z cancels.
        score = (weights * q.score(z)).sum(dim=0)
        score = self.once(score, q.potentials)
        expected = (shares.to(costs.dtype) * costs).sum(dim=0)
        return Estimate(score + expected, expected.detach(), z)


def leave_one_out_shares(p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return q(s) R(s) `[m, batch]` and q(t) R(s, t) `[m, m, batch]` of a set of states.

    Let F(B) be the probability that the states of B come before all states outside of S, when
    those of S - B are left out, divided by the product of their probabilities. By the state that
    comes first,

        F(B) = sum over s in B of F(B - s) / (q(B) + q(outside of S)), F(empty) = 1.

    Then q(s) R(s) = F(S - s) / F(S) and q(t) R(s, t) = F(S - s - t) / F(S - s). Logarithms of F
    serve, since the probabilities of many variables are tiny.

    Args:
        p: `[m, batch]`, the probabilities of the states of S, in float64.
    """
    m = len(p)
    # If the set holds all states, rounding may leave nothing, whose logarithm is -inf.
    outside = (1 - p.sum(dim=0)).clamp_min(torch.finfo(p.dtype).tiny)
    log_f = p.new_zeros((2**m, *p.shape[1:]))
    # A subset is the number whose bits are its members.
    bits = 1 << torch.arange(m, device=p.device)
    has_member = (torch.arange(2**m, device=p.device)[:, None] & bits) > 0
    by_size = has_member.sum(dim=1).argsort(stable=True)
    log_totals = (has_member.to(p.dtype) @ p + outside).log()
    start = 1
    for size in range(1, m + 1):
        end = start + comb(m, size)
        subsets = by_size[start:end]
        without = (subsets[:, None] - bits).clamp_min(0)
        before = log_f[without].masked_fill(~has_member[subsets][..., None], -torch.inf)
        log_f[subsets] = before.logsumexp(dim=1) - log_totals[subsets]
        start = end
    whole = 2**m - 1
    log_f_one = log_f[whole - bits]
    pairs = bits[:, None] + bits
    pairs.fill_diagonal_(0)
    of_others = (log_f[whole - pairs] - log_f_one[:, None]).exp()
    places = torch.arange(m, device=p.device)
    of_others[places, places] = p
    return (log_f_one - log_f[whole]).exp(), of_others
