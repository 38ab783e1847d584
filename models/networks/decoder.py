"""Decoders: from a latent state to one Bernoulli distribution per pixel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torch.utils.checkpoint import checkpoint

from ..errors import SettingError
from ..shapes import Binary, Costs, FlipCosts, Images, Logits, OneHot, Table
from ..states import of_variables
from .layers import Linear

DECODED_TOGETHER = 1 << 22
"""Maximum number of logits decoded at once: 16 MiB in float32."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The cost at a state and its change in each coordinate, in nats.

    Attributes:
        cost: `[..., batch]`, the cost at z, differentiable in the decoder.
        slope: `[..., batch, n]`, without gradient: sum_i slope[i] z_i approximates the cost
            coordinate by coordinate, up to a constant.
    """

    cost: Costs
    slope: FlipCosts


@dataclass(frozen=True, eq=False)
class Flips:
    """The cost at a state and at its n neighbours, in nats.

    Attributes:
        cost: `[..., batch]`, the cost at z.
        flipped: `[..., batch, n]`, the cost at z with variable i flipped.
        z: `[..., batch, n]`, the state.
    """

    cost: Costs
    flipped: FlipCosts
    z: Binary

    @property
    def slope(self) -> FlipCosts:
        """The cost with z_i = 1 minus the cost with z_i = 0, other variables as in z.

        Its shape is `[..., batch, n]`.
        """
        return (self.flipped - self.cost[..., None]) * (1 - 2 * self.z)


@dataclass(frozen=True, eq=False)
class DecodedStates:
    """Latent states that are decoded once for any number of images.

    With hidden units g and logits l = W g + b, the cost is -log p(x | z) = sum softplus(l) - x.l,
    whose first term does not depend on x. If there are more states than hidden units,
    x.l = g.(W'x) + b.x takes fewer operations, and the logits need not be stored.

    Attributes:
        hidden: `[states, hidden]`, the hidden units g.
        logits: `[states, pixels]`, the logits l; None if there are many states.
        volume: `[states]`, sum softplus(l).
        last: the layer with W and b.
    """

    hidden: torch.Tensor
    logits: torch.Tensor | None
    volume: torch.Tensor
    last: nn.Linear

    def costs(self, x: Images) -> Table:
        """Return -log p(x | z) of each state in nats, differentiable: `[batch, states]`."""
        if self.logits is not None:
            return self.volume - x @ self.logits.T
        return self.volume - (x @ self.last.weight) @ self.hidden.T - (x @ self.last.bias)[:, None]


def matches(last: nn.Linear, hidden: torch.Tensor, x: Images) -> torch.Tensor:
    """Return x.l for the logits l of several states of each image, without computing them.

    With l = W g + b it is g.(W'x) + b.x, which takes fewer operations than the logits.

    Args:
        last: the layer with W and b.
        hidden: the hidden units g, `[..., s, hidden]`.
        x: the images, `[..., pixels]`.

    Returns:
        `[..., s]`.
    """
    return torch.einsum("...sh,...h->...s", hidden, x @ last.weight) + (x @ last.bias)[..., None]


def changes_together(x: Images, z: torch.Tensor) -> int:
    """Return how many changes of each state of `z [..., batch, n]` to decode at once."""
    return max(1, DECODED_TOGETHER // (x.shape[-1] * max(1, z.shape[:-1].numel())))


def flips_by_columns(
    x: Images,
    z: Binary,
    start: torch.Tensor,
    columns: torch.Tensor,
    between: Callable[[torch.Tensor], torch.Tensor],
    last: nn.Linear,
) -> Flips:
    """Return the Bernoulli costs at states and at all their single flips, in n + 1 decodes.

    A flip changes the output of a linear first layer by one column of its weights, so the first
    layer costs one addition per flip. The cost is split as in `DecodedStates`.

    Args:
        x: images, `[batch, pixels]`.
        z: bits, `[..., batch, n]`.
        start: `[..., batch, hidden]`, the output of the first layer for z.
        columns: `[n, hidden]`, for each variable the output of the first layer for a one minus its
            output for a zero.
        between: the layers between the first and the last, for `[..., hidden]`; may overwrite its
            input.
        last: the layer of the logits.
    """
    # Entry 0 is the state itself (sign 0); entry i + 1 flips variable i.
    signs = torch.cat([torch.zeros_like(z[..., :1]), 1 - 2 * z], dim=-1)
    columns = torch.cat([columns[:1], columns])
    together = changes_together(x, z)
    costs = []
    chunks = zip(torch.split(signs, together, dim=-1), torch.split(columns, together), strict=True)
    for sign, column in chunks:
        hidden = between(start[..., None, :] + sign[..., None] * column)
        costs.append(softplus(last(hidden)).sum(dim=-1) - matches(last, hidden, x))
    cost = torch.cat(costs, dim=-1)
    return Flips(cost[..., 0], cost[..., 1:], z)


class Decoder(nn.Module, ABC):
    """A decoder of one hidden layer: latent state -> hidden -> ReLU -> Bernoulli logits.

    Args:
        inputs: number of inputs of the first layer.
        pixels: number of values of an image.
        hidden: number of units of the hidden layer; the paper has 300.

    Attributes:
        custom: whether a caller gave the network: False.
        likelihood_name: the name of the likelihood.
    """

    custom: ClassVar[bool] = False
    likelihood_name: ClassVar[str] = "bernoulli"
    n: int

    def __init__(self, inputs: int, pixels: int, hidden: int):
        super().__init__()
        self.first = Linear(inputs, hidden)
        self.last = Linear(hidden, pixels)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def pixels(self) -> int:
        """The number of values of an image."""
        return self.last.out_features

    def has_likelihood(self, likelihood: object) -> bool:
        """Return whether the decoder has this likelihood."""
        return likelihood == self.likelihood_name

    def agree(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless the decoder is of the latent variables of an encoder.

        Args:
            n: the length of a state.
            variables: the number of variables of the encoder.
            categorical: whether they have categories.

        Raises:
            SettingError: the decoder is of other variables.
        """
        if n != self.n:
            raise SettingError(
                f"the encoder has n = {n} and the decoder n = {self.n}; they must agree"
            )
        self._agree_on_kind(variables, categorical)

    def _agree_on_kind(self, variables: int, categorical: bool) -> None:
        """Raise unless the decoder is of so many variables of that kind: here of bits.

        Raises:
            SettingError: the decoder is of other variables.
        """
        if categorical:
            raise SettingError(
                f"the encoder is of categories and {self.name} is of bits; they must agree"
            )

    @abstractmethod
    def start(self, z: torch.Tensor) -> torch.Tensor:
        """Return the output of the first layer for states `z`, before the ReLU: `[..., hidden]`."""

    @abstractmethod
    def around(self, x: Images, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at `z [..., batch, n or k]` and its change in each coordinate."""

    def forward(self, z: torch.Tensor) -> Logits:
        """Return the logits of each state `z [..., n or k]`, hard or relaxed: `[..., pixels]`."""
        return self.last(self.start(z).relu())

    if TYPE_CHECKING:

        def __call__(self, z: torch.Tensor) -> Logits:
            """Call `forward`; declared since torch's own type is Any."""

    def mean(self, z: torch.Tensor) -> torch.Tensor:
        """Return the mean image of each state: `[..., pixels]`."""
        return self(z).sigmoid()

    @torch.no_grad()
    def draw(self, z: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return an image of zeros and ones drawn from p(x | z) for each state, `[..., pixels]`."""
        return torch.bernoulli(self.mean(z), generator=generator)

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """Return -log p(x | z) in nats: `[..., batch]`.

        It is differentiable in the decoder and in relaxed states. For grey images it is the
        cross-entropy, which is a negative log-likelihood only for binary images.

        Args:
            x: `[batch, pixels]`.
            z: `[..., batch, n or k]`.
        """
        logits = self(z)
        losses = binary_cross_entropy_with_logits(logits, x.expand_as(logits), reduction="none")
        return losses.sum(dim=-1)

    @torch.no_grad()
    def values(self, x: Images, z: torch.Tensor) -> Costs:
        """Return `cost` for many states, without gradient: `[..., batch]`.

        The cost is split as in `DecodedStates`.
        """
        hidden = self.start(z).relu_()
        return self._volume(hidden) - matches(self.last, hidden[..., None, :], x)[..., 0]

    def decoded(self, states: torch.Tensor) -> DecodedStates:
        """Decode states `[states, n or k]` in chunks.

        With gradients, the backward pass decodes the chunks again instead of storing all logits.
        """
        hidden = self.start(states).relu()
        if len(hidden) <= self.last.in_features:
            logits = self.last(hidden)
            return DecodedStates(hidden, logits, softplus(logits).sum(dim=-1), self.last)
        chunks = torch.split(hidden, max(1, DECODED_TOGETHER // self.last.out_features))
        if len(chunks) == 1 or not torch.is_grad_enabled():
            volumes = [self._volume(chunk) for chunk in chunks]
        else:
            volumes = [checkpoint(self._volume, chunk, use_reentrant=False) for chunk in chunks]
        return DecodedStates(hidden, None, torch.cat(volumes), self.last)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """Return -log p(x | z) of each state in nats, differentiable: `[batch, states]`."""
        return self.decoded(states).costs(x)

    def _volume(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return sum softplus(logits) for `hidden [..., hidden]`: `[...]`."""
        return softplus(self.last(hidden)).sum(dim=-1)


class BinaryDecoder(Decoder):
    """The paper's decoder of n bits: (z, 1 - z) -> hidden -> ReLU -> one Bernoulli logit per pixel.

    Args:
        pixels: number of values of an image.
        n: number of bits.
        hidden: number of units of the hidden layer; the paper has 300.
    """

    def __init__(self, pixels: int, n: int, hidden: int = 300):
        super().__init__(2 * n, pixels, hidden)
        self.n = n

    def start(self, z: Binary) -> torch.Tensor:
        """Return the first layer's output for `z [..., n]`, before the ReLU: `[..., hidden]`."""
        return self.first(torch.cat([z, 1 - z], dim=-1))

    def around(self, x: Images, z: Binary) -> Neighbourhood:
        """Return the cost at `z [..., batch, n]` and its change in each coordinate."""
        return Neighbourhood(self.cost(x, z), self.flips(x, z).slope)

    @torch.no_grad()
    def flips(self, x: Images, z: Binary) -> Flips:
        """Return the costs at `z [..., batch, n]` and at all single flips, in n + 1 decodes."""
        ones, zeros = self.first.weight.T.chunk(2)
        return flips_by_columns(x, z, self.start(z), ones - zeros, torch.relu_, self.last)


class CategoricalDecoder(Decoder):
    """The paper's decoder of categories: one-hot -> hidden -> ReLU -> a Bernoulli logit per pixel.

    Args:
        pixels: number of values of an image.
        k: number of categories of a variable.
        hidden: number of units of the hidden layer; the paper has 300.
        variables: number of variables, whose one-hot vectors are concatenated.
    """

    def __init__(self, pixels: int, k: int, hidden: int = 300, variables: int = 1):
        super().__init__(variables * k, pixels, hidden)
        self.k = k
        self.n = variables * k
        self.variables = variables

    def _agree_on_kind(self, variables: int, categorical: bool) -> None:
        if not categorical:
            raise SettingError(
                f"the encoder is of bits and {self.name} is of categories; they must agree"
            )
        if variables != self.variables:
            raise SettingError(
                f"the encoder has {variables} variables and the decoder {self.variables}; they "
                "must agree"
            )

    def start(self, z: OneHot) -> torch.Tensor:
        """Return the first layer's output for `z [..., n]`, before the ReLU: `[..., hidden]`."""
        return self.first(z)

    def around(self, x: Images, z: OneHot) -> Neighbourhood:
        """Return the cost at `z [..., batch, n]`, and with each category of each variable.

        A single variable needs only one table of states for all images.
        """
        if self.variables > 1:
            return Neighbourhood(self.cost(x, z), self.changed(x, z))
        table = self.table(x, torch.eye(self.n, dtype=z.dtype, device=z.device))
        return Neighbourhood((table * z).sum(dim=-1), table.detach().expand_as(z))

    @torch.no_grad()
    def changed(self, x: Images, z: OneHot) -> Costs:
        """Return the cost with each category of each variable, others as in z: `[..., batch, n]`.

        It takes variables * (k - 1) + 1 decodes per image. A change moves the first layer's output
        by the difference of two columns of its weights, as a flip does in `BinaryDecoder`.
        """
        labels = of_variables(z, self.variables).argmax(dim=-1, keepdim=True)
        others = (labels + torch.arange(1, self.k, device=z.device)) % self.k
        first_of = self.k * torch.arange(self.variables, device=z.device)[:, None]
        columns = self.first.weight.T
        # Decode z itself and every state that differs from it in one variable.
        start = self.start(z)[..., None, :]
        moved = start[..., None, :] + columns[first_of + others] - columns[first_of + labels]
        hidden = torch.cat([start, moved.flatten(-3, -2)], dim=-2).relu_()
        cost = self._volume(hidden) - matches(self.last, hidden, x)
        # Put each cost at the place of its category.
        at_z = cost[..., :1, None].expand(*z.shape[:-1], self.variables, self.k)
        return at_z.scatter(-1, others, of_variables(cost[..., 1:], self.variables)).flatten(-2)
