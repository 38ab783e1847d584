"""What an encoder gives: the scores of the states of its posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import torch

from .shapes import AllStates, Binary, Edges, FlipCosts, OneHot, Pairwise, Scores, Table, Unary
from .states import all_states


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
        """`[..., batch]`: h(z) of `z [..., batch, n]`, differentiable in the potentials."""
        return self._product(z, self.pairs(z))

    def score_difference(self, z: Binary, other: Binary) -> Scores:
        """`[..., batch]`: h(z) - h(other), differentiable in the potentials."""
        return self._product(z - other, self.pairs(z) - self.pairs(other))

    def pairs(self, z: Binary) -> torch.Tensor:
        """`[..., e]`: z_i z_j of each edge."""
        if self.edges is None:
            return z[..., :0]
        return z[..., self.edges[:, 0]] * z[..., self.edges[:, 1]]

    def _product(self, variables: torch.Tensor, pairs: torch.Tensor) -> Scores:
        """The score of sufficient statistics, which h is linear in."""
        score = (self.unary * variables).sum(dim=-1)
        return score if self.pairwise is None else score + (self.pairwise * pairs).sum(dim=-1)

    def field(self, z: Binary) -> FlipCosts:
        """`[..., batch, n]`: what z_i = 1 instead of 0 adds to h, the other variables as in `z`."""
        if self.pairwise is None or self.edges is None:
            return self.unary.expand_as(z)
        first, second = self.edges[:, 0], self.edges[:, 1]
        field = self.unary.expand_as(z).index_add(-1, first, self.pairwise * z[..., second])
        return field.index_add(-1, second, self.pairwise * z[..., first])

    def states(self) -> AllStates:
        """`[2^n, n]`: every state."""
        return all_states(self.unary.shape[-1], self.unary)

    def table(self, states: AllStates) -> Table:
        """`[batch, states]`: h of each of `states [states, n]`, differentiable in the potentials."""
        table = self.unary @ states.T
        return table if self.pairwise is None else table + self.pairwise @ self.pairs(states).T

    def shifted(self, shift: torch.Tensor) -> Potentials:
        """The potentials with `shift [..., batch, n]` added to the unary scores."""
        return replace(self, unary=self.unary + shift)

    def detach(self) -> Potentials:
        """The same scores, cut off from the encoder's gradient."""
        pairwise = None if self.pairwise is None else self.pairwise.detach()
        return Potentials(self.unary.detach(), pairwise, self.edges)


@dataclass(frozen=True, eq=False)
class CategoricalPotentials:
    """h(z) = sum_i unary[i] z_i over the k one-hot vectors z: a score for each category.

    Attributes:
        unary: `[batch, k]`, the logits.

    Example:
        >>> h = CategoricalPotentials(torch.tensor([[1.0, -2.0, 0.5]]))
        >>> h.score(torch.tensor([[0.0, 0.0, 1.0]]))
        tensor([0.5000])
    """

    unary: Unary
    pairwise: ClassVar[None] = None
    edges: ClassVar[None] = None

    def score(self, z: OneHot) -> Scores:
        """`[..., batch]`: h(z) of `z [..., batch, k]`, differentiable in the potentials."""
        return (self.unary * z).sum(dim=-1)

    def score_difference(self, z: OneHot, other: OneHot) -> Scores:
        """`[..., batch]`: h(z) - h(other), differentiable in the potentials."""
        return self.score(z - other)

    def field(self, z: OneHot) -> Unary:
        """`[..., batch, k]`: the score of each category, whatever `z`."""
        return self.unary.expand_as(z)

    def states(self) -> AllStates:
        """`[k, k]`: the one-hot vectors."""
        return torch.eye(self.unary.shape[-1], dtype=self.unary.dtype, device=self.unary.device)

    def table(self, states: AllStates) -> Table:
        """`[batch, states]`: h of each of `states [states, k]`, differentiable in the potentials."""
        return self.unary @ states.T

    def shifted(self, shift: torch.Tensor) -> CategoricalPotentials:
        """The potentials with `shift [..., batch, k]` added."""
        return CategoricalPotentials(self.unary + shift)

    def detach(self) -> CategoricalPotentials:
        """The same scores, cut off from the encoder's gradient."""
        return CategoricalPotentials(self.unary.detach())


AnyPotentials: TypeAlias = Potentials | CategoricalPotentials
"""The scores of n bits, or of one variable with k values."""
