"""The Bernoulli decoder and the cost of single flips."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from .shapes import Binary, Costs, FlipCosts, Images, Logits


@dataclass(frozen=True, eq=False)
class Flips:
    """The cost at a state and at its n neighbours, in nats.

    Attributes:
        cost: `[batch]`, at z.
        flipped: `[batch, n]`, at z with variable i flipped.
        z: `[batch, n]`, the state.
    """

    cost: Costs
    flipped: FlipCosts
    z: Binary

    @property
    def slope(self) -> FlipCosts:
        """`[batch, n]`: cost with z_i = 1 less cost with z_i = 0, the other variables as in z."""
        return (self.flipped - self.cost[:, None]) * (1 - 2 * self.z)


class BernoulliDecoder(nn.Module):
    """(z, 1 - z) -> hidden -> ReLU -> one Bernoulli logit a pixel, as in the paper (2n-300-pixels).

    Args:
        pixels: of an image.
        n: binary variables.
        hidden: units of the hidden layer; the paper has 300.
    """

    def __init__(self, pixels: int, n: int, hidden: int = 300):
        super().__init__()
        self.n = n
        self.first = nn.Linear(2 * n, hidden)
        self.last = nn.Linear(hidden, pixels)

    def forward(self, z: Binary) -> Logits:
        """`[batch, pixels]`: the logits of the image distribution of each state."""
        logits: torch.Tensor = self.last(self.first(torch.cat([z, 1 - z], dim=-1)).relu())
        return logits

    def cost(self, x: Images, z: Binary) -> Costs:
        """`[batch]`: -log p(x | z) in nats, differentiable in the decoder.

        For grey images (not binarised) this is the cross-entropy, of which a likelihood is one case.
        """
        return binary_cross_entropy_with_logits(self(z), x, reduction="none").sum(dim=-1)

    @torch.no_grad()
    def flips(self, x: Images, z: Binary) -> Flips:
        """The costs at z and at every single flip, by n + 1 decodes an image.

        A flip moves the first layer's output by one difference of its columns, so that layer costs one
        addition. With hidden units g and logits l = W g + b,
        -log p(x | z) = sum softplus(l) - x.l, and x.l = g.(W'x) + b.x needs no product over all pixels.
        """
        ones, zeros = self.first.weight.T.chunk(2)
        start = self.first(torch.cat([z, 1 - z], dim=-1))
        moved = start[:, None] + (1 - 2 * z)[:, :, None] * (ones - zeros)
        hidden = torch.cat([start[:, None], moved], dim=1).relu_()
        volume = softplus(self.last(hidden)).sum(dim=-1)
        match = torch.einsum("bfh,bh->bf", hidden, x @ self.last.weight) + (x @ self.last.bias)[:, None]
        cost = volume - match
        return Flips(cost[:, 0], cost[:, 1:], z)
