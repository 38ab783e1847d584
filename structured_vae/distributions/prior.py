"""The excess that a learnt prior adds to costs and KLs of the uniform prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import torch

from models import DiscreteVAE, Potentials
from models.potentials import AnyPotentials

from .distribution import Distribution
from .gibbs import Gibbs
from .kl import kl_ceiling


@dataclass(frozen=True, eq=False)
class PriorExcess:
    """The excess log u(z) - log p(z) of a prior p over the uniform prior u, in nats.

    KL(q || p) = KL(q || u) + E_q[log u - log p]. The expectation is exact where q has sums, and
    unbiased by samples of q otherwise. So a bound on -log p(x) with the uniform prior becomes a
    bound with p. It is differentiable in the prior.

    Attributes:
        potentials: the scores of the prior, one row for all images.
    """

    potentials: AnyPotentials

    def at(self, z: torch.Tensor) -> torch.Tensor:
        """Return the excess `[..., batch]` at states `z [..., batch, n]`.

        Raises:
            solvers.UnsupportedProblemError: the prior's log Z is out of reach.
        """
        return self._constant - self.potentials.score(z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the excess `[1, states]` at each of `states [states, n]`.

        Raises:
            solvers.UnsupportedProblemError: as for `at`.
        """
        return self._constant[:, None] - self.potentials.table(states)

    def slope(self, z: torch.Tensor) -> torch.Tensor:
        """Return the change `[..., batch, n]` of the excess by z_i = 1 in place of 0, detached."""
        return -self.potentials.detach().field(z)

    def expected(self, q: Distribution) -> torch.Tensor:
        """Return the exact expectation `[batch]` of the excess under q.

        Raises:
            solvers.UnsupportedProblemError: as for `at`, or q's sums are out of reach.
        """
        ones, pairs = moments(q, self.potentials)
        mean = (self.potentials.unary * ones).sum(dim=-1)
        if self.potentials.pairwise is not None and pairs is not None:
            mean = mean + (self.potentials.pairwise * pairs).sum(dim=-1)
        return self._constant - mean

    @cached_property
    def distribution(self) -> Gibbs:
        """The prior p as a distribution."""
        return Gibbs(self.potentials)

    @property
    def _constant(self) -> torch.Tensor:
        return self.distribution.log_partition - kl_ceiling(self.potentials).value


def excess_of(vae: DiscreteVAE) -> PriorExcess | None:
    """Return the excess of the model's prior; None for the uniform one."""
    if vae.prior is None:
        return None
    return PriorExcess(replace(vae.prior.potentials(), space=vae.space))


def moments(q: Distribution, other: AnyPotentials) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the probabilities under q that variables, and pairs of other potentials, are one.

    Args:
        q: the distribution.
        other: the potentials whose edges the pairs are.

    Returns:
        P(z_i = 1) `[batch, n]` and P(z_i = z_j = 1) `[batch, e]`; None without edges.
    """
    h = q.potentials
    edges = other.edges
    if edges is None:
        return q.marginals[0], None
    if h.pairwise is None or h.edges is None:
        ones, _ = q.marginals
        return ones, ones[:, edges[:, 0]] * ones[:, edges[:, 1]]
    if not torch.equal(h.edges, edges):
        h, places = _with_edges(cast("Potentials", h), edges)
        ones, pairs = Gibbs(h).marginals
        if pairs is None:
            return ones, None
        return ones, pairs[:, places]
    return q.marginals


def _with_edges(h: Potentials, edges: torch.Tensor) -> tuple[Potentials, torch.Tensor]:
    """Return h with zero scores for the edges that it lacks, and the places of `edges` in it.

    An edge is the same in both directions; those of the result have i < j.
    """
    present = h.edges
    if present is None:
        present = edges[:0]
    upward = torch.cat([present, edges]).sort(dim=1).values
    joined, places = torch.unique(upward, dim=0, return_inverse=True)
    count = len(present)
    pairwise = h.unary.new_zeros(len(h.unary), len(joined))
    if h.pairwise is not None:
        pairwise = pairwise.index_add(1, places[:count], h.pairwise)
    return Potentials(h.unary, pairwise, joined), places[count:]
