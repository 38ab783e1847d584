"""Gradients by summing over every state."""

from __future__ import annotations

import math

import torch

from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..objectives.costs import Cost
from .estimator import Estimate, Estimator
from .reasons import too_many_states


class Exact(Estimator):
    """Unbiased and without variance: the gradient of E_q[cost] itself, q being the Gibbs distribution.

    One table of decoded states serves the batch. For up to 20 bits, and for categories. `z` holds
    the most probable states.

    A step costs one table of all states, decoded once for the batch, and no argmax.
    """

    kl = "exact"

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """More than 20 bits."""
        return too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        states = q.potentials.states()
        probabilities = q.potentials.table(states).softmax(dim=-1)
        expected = (probabilities * cost.table(states)).sum(dim=-1)
        likely = probabilities.detach().argmax(dim=-1)
        return Estimate(expected, expected.detach(), states[likely][None])


class MaximumLikelihood(Estimator):
    """The gradient of -log p(x) itself, and of a forward KL that makes q follow p(z | x).

    The decoder maximises the likelihood with no bound in between, log p(x) = log sum_z p(x | z) -
    log of the number of states; the encoder minimises KL(p(z | x) || q(z | x)), with p(z | x) held
    fixed. Not an estimator of the ELBO's gradient: another objective over the same table. For up to
    20 bits, and for categories. `cost` is -log p(x) and `z` holds the most probable states.

    A step costs one table of all states, decoded once for the batch, and no argmax.
    """

    kl = "none"

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """More than 20 bits."""
        return too_many_states(potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        states = q.potentials.states()
        log_q = q.potentials.table(states).log_softmax(dim=-1)
        log_joint = -cost.table(states)
        minus_log_p = math.log(len(states)) - log_joint.logsumexp(dim=-1)
        posterior = log_joint.detach().softmax(dim=-1)
        forward_kl = -(posterior * log_q).sum(dim=-1)
        z = states[log_q.detach().argmax(dim=-1)][None]
        return Estimate(minus_log_p + forward_kl, minus_log_p.detach(), z)
