"""What an encoder gives: the scores of a pairwise binary posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from .shapes import Binary, Edges, FlipCosts, Pairwise, Scores, Unary


@dataclass(frozen=True, eq=False)
class Potentials:
    """h(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j,  z in {0,1}^n,  maximised.

    Attributes:
        unary: `[batch, n]`, the difference h_i(1) - h_i(0).
        pairwise: `[batch, e]`; None for an independent encoder.
        edges: `[e, 2]`, i < j; None for an independent encoder.

    Example:
        >>> h = Potentials(torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0]]), torch.tensor([[0, 1]]))
        >>> h.score(torch.tensor([[1.0, 1.0]]))
        tensor([2.])
    """

    unary: Unary
    pairwise: Pairwise | None = None
    edges: Edges | None = None

    def score(self, z: Binary) -> Scores:
        """`[batch]`: h(z), differentiable in the potentials."""
        return self._product(z, self._pairs(z))

    def score_difference(self, z: Binary, other: Binary) -> Scores:
        """`[batch]`: h(z) - h(other), differentiable in the potentials."""
        return self._product(z - other, self._pairs(z) - self._pairs(other))

    def _pairs(self, z: Binary) -> torch.Tensor:
        """`[batch, e]`: z_i z_j."""
        if self.edges is None:
            return z[:, :0]
        return z[:, self.edges[:, 0]] * z[:, self.edges[:, 1]]

    def _product(self, variables: torch.Tensor, pairs: torch.Tensor) -> Scores:
        """The score of sufficient statistics, which h is linear in."""
        score = (self.unary * variables).sum(dim=-1)
        return score if self.pairwise is None else score + (self.pairwise * pairs).sum(dim=-1)

    def field(self, z: Binary) -> FlipCosts:
        """`[batch, n]`: what setting z_i = 1 instead of 0 adds to h, the other variables as in `z`."""
        if self.pairwise is None or self.edges is None:
            return self.unary
        first, second = self.edges[:, 0], self.edges[:, 1]
        field = self.unary.index_add(1, first, self.pairwise * z[:, second])
        return field.index_add(1, second, self.pairwise * z[:, first])

    def shifted(self, shift: torch.Tensor) -> Potentials:
        """The potentials with `shift [batch, n]` added to the unary scores."""
        return replace(self, unary=self.unary + shift)

    def detach(self) -> Potentials:
        """The same scores, cut off from the encoder's gradient."""
        pairwise = None if self.pairwise is None else self.pairwise.detach()
        return Potentials(self.unary.detach(), pairwise, self.edges)
