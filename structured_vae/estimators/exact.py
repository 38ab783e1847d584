"""The estimators that sum over every state."""

from __future__ import annotations

import math

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..objectives.costs import Cost
from .estimator import Estimate, Estimator
from .reasons import too_many_states


class Exact(Estimator):
    """The exact gradient of E_q[cost], where q is the Gibbs distribution: no bias, no variance.

    One table of decoded states serves the batch. It takes up to 20 bits, and categories. `z` holds
    the most probable states.

    A step costs one table of all states, decoded once for the batch, and no argmax.
    """

    kl = "density"

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are more than 2^20 states, or no sums over them."""
        return super().why_not(potentials) + too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        states = q.potentials.states()
        probabilities = q.log_prob_of_all(states).exp()
        expected = (probabilities * cost.table(states)).sum(dim=-1)
        likely = probabilities.detach().argmax(dim=-1)
        return Estimate(expected, expected.detach(), states[likely][None])


class MaximumLikelihood(Estimator):
    """The exact gradient of -log p(x), and of a forward KL by which q follows p(z | x).

    The decoder maximises the likelihood itself, log p(x) = log sum_z p(x | z) - log of the number
    of states. The encoder minimises KL(p(z | x) || q(z | x)), with p(z | x) held fixed. So it is
    another objective over the same table, not an estimator of the gradient of the ELBO. It takes up
    to 20 bits, and categories. `cost` is -log p(x), and `z` holds the most probable states.

    A step costs one table of all states, decoded once for the batch, and no argmax.
    """

    kl = "none"
    other_objective = "-log p(x), and KL(p(z | x) || q(z | x)) with p held fixed"

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where there are more than 2^20 states, or no sums over them."""
        return super().why_not(potentials) + too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        states = q.potentials.states()
        log_q = q.log_prob_of_all(states)
        log_joint = -cost.table(states).expand(len(q.potentials.unary), -1)
        # p(x) is the mean over all states of exp(-cost), hence the logarithm of their number.
        minus_log_p = math.log(len(states)) - log_joint.logsumexp(dim=-1)
        posterior = log_joint.detach().softmax(dim=-1)
        forward_kl = -(posterior * log_q).sum(dim=-1)
        z = states[log_q.detach().argmax(dim=-1)][None]
        return Estimate(minus_log_p + forward_kl, minus_log_p.detach(), z)
