"""A KL, its value and whether it makes a bound; and the two that need no posterior: of unary scores, and the ceiling.

The others are `Gibbs.kl` and `PerturbAndMAP.kl`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn.functional import softplus

from models import AnyPotentials, CategoricalPotentials


@dataclass(frozen=True, eq=False)
class KL:
    """KL(q(z | x) || p(z)) with a uniform prior over the latent states, in nats.

    Attributes:
        value: `[batch]`.
        valid: whether reconstruction + value is, in expectation, an upper bound on -log p(x).
    """

    value: torch.Tensor
    valid: bool


def kl_of_unary(potentials: AnyPotentials) -> KL:
    """The KL of the unary scores alone: of independent bits, or of categorical variables.

    For independent bits with P(z_i = 1) = sigmoid(unary[i]) it is sum_i log 2 - entropy_i; for
    categories the sum of log k - entropy. In both cases it is exact. With pairwise scores it is the
    number that the paper's released code prints, which ignores them: not a bound.
    """
    unary = potentials.unary
    if isinstance(potentials, CategoricalPotentials):
        log_q = potentials.apart(unary).log_softmax(dim=-1)
        kls = math.log(potentials.k) + (log_q.exp() * log_q).sum(dim=-1)
    else:
        kls = math.log(2) - (softplus(unary) - unary * unary.sigmoid())
    return KL(kls.sum(dim=-1), valid=potentials.pairwise is None)


def kl_ceiling(potentials: AnyPotentials) -> KL:
    """The logarithm of the number of states: no KL to a uniform prior exceeds it. Valid, never tight."""
    ceiling = math.log(potentials.state_count)
    return KL(potentials.unary.new_full((len(potentials.unary),), ceiling), valid=True)
