"""What a learnt prior adds to costs and KLs that are those of the uniform prior."""

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
    """log u(z) - log p(z) in nats, u being uniform: KL(q || p) = KL(q || u) + E_q[log u - log p].

    Its expectation is exact where q's sums are known, and unbiased by samples of q, so that what is
    a bound on -log p(x) with the uniform prior is one with p. Differentiable in the prior.

    Attributes:
        potentials: of the prior, one row for all images.
    """

    potentials: AnyPotentials

    def at(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: the value at `z [..., batch, n]`.

        Raises:
            solvers.UnsupportedProblemError: the prior's log Z is out of reach.
        """
        return self._constant - self.potentials.score(z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[1, states]`: the value at each of `states [states, n]`.

        Raises:
            solvers.UnsupportedProblemError: as for `at`.
        """
        return self._constant[:, None] - self.potentials.table(states)

    def slope(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch, n]`: its change by z_i = 1 in the place of 0, without gradient."""
        return -self.potentials.detach().field(z)

    def expected(self, q: Distribution) -> torch.Tensor:
        """`[batch]`: its expectation under q, exact.

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
        """The prior p."""
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
    """P(z_i = 1) `[batch, n]` and P(z_i = z_j = 1) `[batch, e]` under q, for the edges of other potentials."""
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
        return ones, None if pairs is None else pairs[:, places]
    return q.marginals


def _with_edges(h: Potentials, edges: torch.Tensor) -> tuple[Potentials, torch.Tensor]:
    """The same scores with zeros for edges that h has not, and the places of all of `edges` in it.

    An edge is the same in both directions; those of the answer have i < j.
    """
    known = h.edges if h.edges is not None else edges[:0]
    upward = torch.cat([known, edges]).sort(dim=1).values
    joined, places = torch.unique(upward, dim=0, return_inverse=True)
    count = len(known)
    pairwise = h.unary.new_zeros(len(h.unary), len(joined))
    if h.pairwise is not None:
        pairwise = pairwise.index_add(1, places[:count], h.pairwise)
    return Potentials(h.unary, pairwise, joined), places[count:]
