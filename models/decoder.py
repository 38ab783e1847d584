"""Decoders: a latent state in, one Bernoulli distribution a pixel out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torch.utils.checkpoint import checkpoint

from .layers import Linear
from .shapes import Binary, Costs, FlipCosts, Images, Logits, OneHot, Table
from .states import of_variables

DECODED_TOGETHER = 1 << 22
"""Logits that are decoded at once: 16 MiB in float32."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The cost at a state and its change in each coordinate, in nats.

    Attributes:
        cost: `[..., batch]`, at z, differentiable in the decoder.
        slope: `[..., batch, n]`, without gradient: sum_i slope[i] z_i is the coordinate-wise
            approximation of the cost, up to a constant.
    """

    cost: Costs
    slope: FlipCosts


@dataclass(frozen=True, eq=False)
class Flips:
    """The cost at a state and at its n neighbours, in nats.

    Attributes:
        cost: `[..., batch]`, at z.
        flipped: `[..., batch, n]`, at z with variable i flipped.
        z: `[..., batch, n]`, the state.
    """

    cost: Costs
    flipped: FlipCosts
    z: Binary

    @property
    def slope(self) -> FlipCosts:
        """`[..., batch, n]`: cost with z_i = 1 less cost with z_i = 0, the other variables as in z."""
        return (self.flipped - self.cost[..., None]) * (1 - 2 * self.z)


@dataclass(frozen=True, eq=False)
class DecodedStates:
    """Latent states, decoded once for any number of images.

    With hidden units g and logits l = W g + b, -log p(x | z) = sum softplus(l) - x.l, of which the
    first term does not depend on x. Where there are more states than hidden units, x.l = g.(W'x) +
    b.x is less work, and the logits need not be kept.

    Attributes:
        hidden: `[states, hidden]`, g.
        logits: `[states, pixels]`, l; None where there are many states.
        volume: `[states]`, sum softplus(l).
        last: the layer of W and b.
    """

    hidden: torch.Tensor
    logits: torch.Tensor | None
    volume: torch.Tensor
    last: nn.Linear

    def costs(self, x: Images) -> Table:
        """`[batch, states]`: -log p(x | z) of each state in nats, differentiable in the decoder."""
        if self.logits is not None:
            return self.volume - x @ self.logits.T
        return self.volume - (x @ self.last.weight) @ self.hidden.T - (x @ self.last.bias)[:, None]


def matches(last: nn.Linear, hidden: torch.Tensor, x: Images) -> torch.Tensor:
    """`[..., s]`: x.l for hidden units g `[..., s, hidden]` and the image x `[..., pixels]` that they are of.

    With logits l = W g + b it is g.(W'x) + b.x, which is less work than the logits' own.
    """
    return torch.einsum("...sh,...h->...s", hidden, x @ last.weight) + (x @ last.bias)[..., None]


def changes_together(x: Images, z: torch.Tensor) -> int:
    """How many changes of each state of `z [..., batch, n]` are decoded at once."""
    return max(1, DECODED_TOGETHER // (x.shape[-1] * max(1, z.shape[:-1].numel())))


def flips_by_columns(
    x: Images,
    z: Binary,
    start: torch.Tensor,
    columns: torch.Tensor,
    between: Callable[[torch.Tensor], torch.Tensor],
    last: nn.Linear,
) -> Flips:
    """The Bernoulli costs at `z [..., batch, n]` and at every single flip, by n + 1 decodes an image.

    A flip moves what a linear first layer gives by one column, so that layer costs one addition.
    The cost is split as in `DecodedStates`.

    Args:
        x: `[batch, pixels]`.
        z: bits.
        start: `[..., batch, hidden]`, what the first layer gives for z.
        columns: `[n, hidden]`, what the first layer gives for a one less what it gives for a zero,
            of each variable.
        between: from there to the last layer, for `[..., hidden]`; it may write over what it is
            given.
        last: the layer of the logits.
    """
    signs = torch.cat([torch.zeros_like(z[..., :1]), 1 - 2 * z], dim=-1)
    columns = torch.cat([columns[:1], columns])
    together = changes_together(x, z)
    costs = []
    parts = zip(torch.split(signs, together, dim=-1), torch.split(columns, together), strict=True)
    for sign, column in parts:
        hidden = between(start[..., None, :] + sign[..., None] * column)
        costs.append(softplus(last(hidden)).sum(dim=-1) - matches(last, hidden, x))
    cost = torch.cat(costs, dim=-1)
    return Flips(cost[..., 0], cost[..., 1:], z)


class Decoder(nn.Module, ABC):
    """A latent state -> hidden -> ReLU -> one Bernoulli logit a pixel.

    Args:
        inputs: of the first layer.
        pixels: of an image.
        hidden: units of the hidden layer; the paper has 300.
    """

    def __init__(self, inputs: int, pixels: int, hidden: int):
        super().__init__()
        self.first = Linear(inputs, hidden)
        self.last = Linear(hidden, pixels)

    @abstractmethod
    def start(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., hidden]`: what the first layer gives for states `z`, before the ReLU."""

    @abstractmethod
    def around(self, x: Images, z: torch.Tensor) -> Neighbourhood:
        """The cost at `z [..., batch, n or k]` and its change in each coordinate."""

    def forward(self, z: torch.Tensor) -> Logits:
        """`[..., pixels]`: the logits of the image distribution of each state; relaxed states will do."""
        return self.last(self.start(z).relu())

    if TYPE_CHECKING:

        def __call__(self, z: torch.Tensor) -> Logits:
            """As `forward`; torch says Any."""

    def mean(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., pixels]`: the mean image of each state."""
        return self(z).sigmoid()

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """`[..., batch]`: -log p(x | z) in nats, differentiable in the decoder and in relaxed states.

        For grey images (not binarised) this is the cross-entropy, of which a likelihood is one
        case.
        """
        logits = self(z)
        losses = binary_cross_entropy_with_logits(logits, x.expand_as(logits), reduction="none")
        return losses.sum(dim=-1)

    @torch.no_grad()
    def values(self, x: Images, z: torch.Tensor) -> Costs:
        """`[..., batch]`: `cost` of many states, without gradient, split as in `DecodedStates`."""
        hidden = self.start(z).relu_()
        return self._volume(hidden) - matches(self.last, hidden[..., None, :], x)[..., 0]

    def decoded(self, states: torch.Tensor) -> DecodedStates:
        """States `[states, n or k]`, decoded a few at a time.

        With gradients, backwards decodes them again rather than keep all logits.
        """
        hidden = self.start(states).relu()
        if len(hidden) <= self.last.in_features:
            logits = self.last(hidden)
            return DecodedStates(hidden, logits, softplus(logits).sum(dim=-1), self.last)
        parts = torch.split(hidden, max(1, DECODED_TOGETHER // self.last.out_features))
        if len(parts) == 1 or not torch.is_grad_enabled():
            return DecodedStates(
                hidden, None, torch.cat([self._volume(part) for part in parts]), self.last
            )
        volumes = [checkpoint(self._volume, part, use_reentrant=False) for part in parts]
        return DecodedStates(hidden, None, torch.cat(volumes), self.last)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """`[batch, states]`: -log p(x | z) of each state in nats, differentiable in the decoder."""
        return self.decoded(states).costs(x)

    def _volume(self, hidden: torch.Tensor) -> torch.Tensor:
        """`[...]`: sum softplus(logits)."""
        return softplus(self.last(hidden)).sum(dim=-1)


class BinaryDecoder(Decoder):
    """(z, 1 - z) -> hidden -> ReLU -> one Bernoulli logit a pixel, as in the paper (2n-300-pixels).

    Args:
        pixels: of an image.
        n: binary variables.
        hidden: units of the hidden layer; the paper has 300.
    """

    def __init__(self, pixels: int, n: int, hidden: int = 300):
        super().__init__(2 * n, pixels, hidden)
        self.n = n

    def start(self, z: Binary) -> torch.Tensor:
        """`[..., hidden]`: what the first layer gives for `z [..., n]`, before the ReLU."""
        return self.first(torch.cat([z, 1 - z], dim=-1))

    def around(self, x: Images, z: Binary) -> Neighbourhood:
        """The cost at `z [..., batch, n]` and its change in each coordinate."""
        return Neighbourhood(self.cost(x, z), self.flips(x, z).slope)

    @torch.no_grad()
    def flips(self, x: Images, z: Binary) -> Flips:
        """The costs at `z [..., batch, n]` and at every single flip, by n + 1 decodes an image."""
        ones, zeros = self.first.weight.T.chunk(2)
        return flips_by_columns(x, z, self.start(z), ones - zeros, torch.relu_, self.last)


class CategoricalDecoder(Decoder):
    """A one-hot vector -> hidden -> ReLU -> one Bernoulli logit a pixel, as in the paper (k-300-pixels).

    Args:
        pixels: of an image.
        k: values of a variable.
        hidden: units of the hidden layer; the paper has 300.
        variables: how many there are; their one-hot vectors stand one after the other.
    """

    def __init__(self, pixels: int, k: int, hidden: int = 300, variables: int = 1):
        super().__init__(variables * k, pixels, hidden)
        self.k = k
        self.n = variables * k
        self.variables = variables

    def start(self, z: OneHot) -> torch.Tensor:
        """`[..., hidden]`: what the first layer gives for `z [..., n]`, before the ReLU."""
        return self.first(z)

    def around(self, x: Images, z: OneHot) -> Neighbourhood:
        """The cost at `z [..., batch, n]`, and with each value of each variable, the others as in z.

        Of one variable from one table for all images.
        """
        if self.variables > 1:
            return Neighbourhood(self.cost(x, z), self.changed(x, z))
        table = self.table(x, torch.eye(self.n, dtype=z.dtype, device=z.device))
        return Neighbourhood((table * z).sum(dim=-1), table.detach().expand_as(z))

    @torch.no_grad()
    def changed(self, x: Images, z: OneHot) -> Costs:
        """`[..., batch, n]`: the cost with each value of each variable, by variables (k - 1) + 1 decodes an image.

        A change moves the first layer's output by one difference of its columns, as a flip does in
        `BinaryDecoder`.
        """
        labels = of_variables(z, self.variables).argmax(dim=-1, keepdim=True)
        others = (labels + torch.arange(1, self.k, device=z.device)) % self.k
        first_of = self.k * torch.arange(self.variables, device=z.device)[:, None]
        columns = self.first.weight.T
        start = self.start(z)[..., None, :]
        moved = start[..., None, :] + columns[first_of + others] - columns[first_of + labels]
        hidden = torch.cat([start, moved.flatten(-3, -2)], dim=-2).relu_()
        cost = self._volume(hidden) - matches(self.last, hidden, x)
        at_z = cost[..., :1, None].expand(*z.shape[:-1], self.variables, self.k)
        return at_z.scatter(-1, others, of_variables(cost[..., 1:], self.variables)).flatten(-2)
