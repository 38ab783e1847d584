"""A KL with its kind, and the two that need no samples: of unary scores, and the ceiling.

The others are `Gibbs.kl` and `PerturbAndMAP.kl`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch

from models.potentials import AnyPotentials

from ..errors import StructureError
from ..spaces import space_of

Kind: TypeAlias = Literal["exact", "bound", "neither"]
"""The kind of a number: the quantity itself, a bound on it in expectation, or neither."""


@dataclass(frozen=True, eq=False)
class KL:
    """The KL(q(z | x) || p(z)) to a uniform prior over the latent states, in nats.

    Attributes:
        value: `[batch]`.
        kind: "exact"; "bound", which in expectation is at least the KL; or "neither".
    """

    value: torch.Tensor
    kind: Kind

    @property
    def valid(self) -> bool:
        """Whether reconstruction + value is, in expectation, an upper bound on -log p(x)."""
        return self.kind != "neither"


def kl_of_unary(potentials: AnyPotentials) -> KL:
    """Return the KL of the unary scores alone: of independent bits, or of categorical variables.

    For independent bits with P(z_i = 1) = sigmoid(unary[i]) it is sum_i log 2 - entropy_i; for
    categories it is the sum of log k - entropy. In both cases it is exact. With pairwise scores it
    is the number that the paper's released code prints. That number ignores the pairwise scores, so
    it is not a bound. In a space of dependent variables it is the KL of the Gibbs distribution,
    which an argmax under noise does not follow; where the space has no sums it is the ceiling,
    which is a bound.

    Raises:
        StructureError: the space has neither sums nor a number of states.
    """
    space = space_of(potentials)
    unary = potentials.unary
    if not space.tractable:
        return kl_ceiling(potentials)
    sums = space.gibbs(unary)
    # H(q) = log Z - <scores, marginals>.
    entropy = sums.log_partition - (unary * sums.marginals).sum(dim=-1)
    exact = space.independent and potentials.pairwise is None
    kind: Kind = "neither"
    if exact:
        kind = "exact"
    return KL(kl_ceiling(potentials).value - entropy, kind)


def kl_ceiling(potentials: AnyPotentials) -> KL:
    """Return the logarithm of the number of states: no KL to a uniform prior exceeds it.

    It is a bound, and never tight.

    Raises:
        StructureError: the space does not know its number of states.
    """
    log_count = potentials.log_state_count
    if log_count is None:
        raise StructureError(
            f"the number of states of {space_of(potentials)} is not known: implement log_count(n), "
            "or gibbs(scores), which also gives it"
        )
    return KL(potentials.unary.new_full((len(potentials.unary),), log_count), "bound")
