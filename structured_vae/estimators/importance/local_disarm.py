"""The DisARM estimator of the importance-weighted bound, with an antithetic state per sample."""

from __future__ import annotations

import torch

from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...objectives.costs import Cost
from ..antithetic.arm import antithetic_pair, disarm_factors
from ..estimator import Estimate
from ..reasons import not_independent_bits
from ..sampled import Sampled
from .multi_sample import MultiSample, effective_samples, importance_bound, log_sum_of_others


class LocalDisARM(Sampled):
    """The DisARM estimator of the importance-weighted bound L_K of independent bits: unbiased.

    Each of the K samples z_k has an antithetic state z'_k of the same uniform numbers. With L(k)
    for -log (1/K) sum_j w_j in which w(z'_k) replaces w(z_k), and L for the sum without
    replacement, the gradient in the scores is

        sum_k 1/2 (L - L(k)) (z_k - z'_k) sigmoid(abs(unary)) + sum_k v_k grad log q(z_k).

    Decoder and prior have the gradient of L, as with `MultiSample`.

    A sample costs two decodes, one of them with a gradient, and no argmax.

    Args:
        samples: K, the number of samples per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Dong, Mnih, Tucker (2020), DisARM: an antithetic gradient estimator for binary latent
        variables, section on multi-sample bounds; "local DisARM" of its code.
    """

    kl = "weighted"
    other_objective = MultiSample.other_objective
    usual_samples = 5
    least = 2

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are pairwise scores or categories."""
        reasons = super().why_not(potentials)
        return reasons + not_independent_bits(potentials, type(self).__name__)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        unary = potentials.unary.detach()
        _, z, other = antithetic_pair(unary, self.samples, generator)
        costs = cost(z)
        log_q = q.log_prob(z)
        log_weights = -costs.detach() - log_q.detach()
        with torch.no_grad():
            log_of_others = -cost(other) - q.log_prob(other)
        # The change of the bound if the antithetic state takes the place of a sample.
        replaced = torch.logaddexp(log_sum_of_others(log_weights), log_of_others)
        changes = replaced - log_weights.logsumexp(dim=0)
        gradient = (changes[..., None] * disarm_factors(unary, z, other)).sum(dim=0)
        # The part of the encoder's gradient that goes through the weights, and the decoder's.
        shares = log_weights.softmax(dim=0)
        through_weights = (shares * (costs + log_q)).sum(dim=0)
        linear = (potentials.unary * gradient).sum(dim=-1)
        linear = self.once(linear, potentials)
        surrogate = linear + through_weights
        return Estimate(surrogate, importance_bound(q, log_weights), z, effective_samples(shares))
