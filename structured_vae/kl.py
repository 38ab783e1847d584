"""The KL term of the bound, and whether it makes one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn.functional import softplus

from models import Potentials


@dataclass(frozen=True, eq=False)
class KL:
    """KL(q(z | x) || p(z)) with a uniform prior over n bits, in nats.

    Attributes:
        value: `[batch]`.
        valid: whether reconstruction + value is an upper bound on -log p(x).
    """

    value: torch.Tensor
    valid: bool


def kl_of_unary(potentials: Potentials) -> KL:
    """The KL of independent bits with P(z_i = 1) = sigmoid(unary[i]): sum_i log 2 - entropy_i.

    For an independent encoder this is exact. With pairwise scores it is the number that the paper's
    released code prints, which ignores them: not a bound.
    """
    unary = potentials.unary
    entropy = softplus(unary) - unary * unary.sigmoid()
    return KL((math.log(2) - entropy).sum(dim=-1), valid=potentials.pairwise is None)


def kl_ceiling(potentials: Potentials) -> KL:
    """N log 2, which no KL to a uniform prior exceeds: valid for every encoder, tight for none."""
    batch, n = potentials.unary.shape
    return KL(potentials.unary.new_full((batch,), n * math.log(2)), valid=True)


def tightest_valid_kl(potentials: Potentials) -> KL:
    """The exact KL where it is known, else its ceiling."""
    exact = kl_of_unary(potentials)
    return exact if exact.valid else kl_ceiling(potentials)
