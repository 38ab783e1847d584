"""Causal networks: the logits of variable v depend only on the variables before v.

A state is a row of V variables of w entries each. Bits and continuous variables have w = 1; one-hot
vectors of k values have w = k. A causal network returns the logits `[..., V w]` of all variables of
a state in one pass. To draw a state, it returns the logits of one variable after the other, and
reuses stored sums of the variables so far. The distribution of a continuous variable needs several
numbers, so a network returns o outputs per variable, `[..., V o]` in all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Protocol, cast

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from ..constants import ModuleWithConstants
from ..networks.layers import Linear
from ..shapes import Binary


class InOrder(Protocol):
    """The logits of states that grow by one variable after the other."""

    def next_logits(self) -> torch.Tensor:
        """Return the logits `[count, o]` of the next variable, given those appended so far."""

    def append(self, values: torch.Tensor) -> None:
        """Append the values `[count, w]` of that variable."""


class CausalNetwork(ModuleWithConstants, ABC):
    """The base of causal networks over V variables of w entries.

    Every network gives zero logits at first, those of the uniform distribution.

    Args:
        variables: V.
        width: w.
        outputs: o, the number of logits of a variable; 0 for w.
    """

    def __init__(self, variables: int, width: int, outputs: int = 0):
        super().__init__()
        self.variables = variables
        self.width = width
        self.outputs = outputs or width

    @abstractmethod
    def forward(self, z: Binary) -> torch.Tensor:
        """Return the logits `[..., V o]` of all variables of states `z [..., V w]`."""

    @abstractmethod
    def in_order(self, count: int) -> InOrder:
        """Return the logits of `count` states that have no variables yet."""

    def variable_by_variable(
        self, count: int, draw: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """Return states `[count, V w]` whose variables are drawn one after the other.

        Args:
            count: number of states.
            draw: takes the logits `[count, o]` of a variable, and returns its values `[count, w]`.
        """
        in_order = self.in_order(count)
        drawn = []
        for _ in range(self.variables):
            values = draw(in_order.next_logits())
            drawn.append(values)
            in_order.append(values)
        return torch.cat(drawn, dim=-1)

    def _entries(self, variable: int) -> slice:
        """Return the places of the entries of a variable in a state."""
        return slice(variable * self.width, (variable + 1) * self.width)

    def _logits(self, variable: int) -> slice:
        """Return the places of the logits of a variable."""
        return slice(variable * self.outputs, (variable + 1) * self.outputs)


class CausalLinear(CausalNetwork):
    """Logits that are linear in the variables before: a fully visible sigmoid belief network.

    Args:
        variables: V.
        width: w.
        outputs: o; 0 for w.

    References:
        Neal (1992), Connectionist learning of belief networks; Frey, Hinton, Dayan (1996), Does the
        wake-sleep algorithm produce good density estimators?
    """

    mask: torch.Tensor

    def __init__(self, variables: int, width: int, outputs: int = 0):
        super().__init__(variables, width, outputs)
        size = variables * self.outputs
        self.weight = nn.Parameter(torch.zeros(size, variables * width))
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_constant("mask", partial(linear_mask, variables, width, self.outputs))

    def forward(self, z: Binary) -> torch.Tensor:
        """Return the logits `[..., V o]`."""
        return torch.nn.functional.linear(z, self.weight * self.mask, self.bias)

    def in_order(self, count: int) -> InOrder:
        """Return logits that store the sum over the variables so far."""
        return _LinearInOrder(self, count)


def linear_mask(variables: int, width: int, outputs: int) -> torch.Tensor:
    """Return the mask of logits `[V o, V w]` that see the entries of earlier variables alone."""
    variable = torch.arange(variables)
    of_logits = variable.repeat_interleave(outputs)
    of_entries = variable.repeat_interleave(width)
    return of_logits[:, None] > of_entries[None]


class _LinearInOrder:
    """The logits of `CausalLinear` in order, with their sums over the variables so far."""

    def __init__(self, network: CausalLinear, count: int):
        self.network = network
        self.weight = network.weight * network.mask
        self.sums = network.bias.expand(count, -1).clone()
        self.variable = 0

    def next_logits(self) -> torch.Tensor:
        """Return the logits `[count, o]` of the next variable."""
        return self.sums[:, self.network._logits(self.variable)]

    def append(self, values: torch.Tensor) -> None:
        """Add the share of a variable to the logits of all later ones."""
        self.sums += values @ self.weight[:, self.network._entries(self.variable)].T
        self.variable += 1


class MADE(CausalNetwork):
    """A causal network of masked layers: a hidden unit of degree d sees only the first d variables.

    The logits are a linear function of the variables before, plus one of the last hidden layer.

    Args:
        variables: V.
        width: w.
        hidden: units of a hidden layer.
        layers: number of hidden layers.
        outputs: o; 0 for w.

    References:
        Germain, Gregor, Murray, Larochelle (2015), MADE: masked autoencoder for distribution
        estimation.
    """

    def __init__(
        self, variables: int, width: int, hidden: int = 400, layers: int = 1, outputs: int = 0
    ):
        super().__init__(variables, width, outputs)
        self.direct = CausalLinear(variables, width, outputs)
        self.hidden = nn.ModuleList()
        mask = partial(_mask_of_inputs, variables, width, hidden)
        for _ in range(layers):
            self.hidden.append(_Masked(mask))
            mask = partial(_mask_of_units, variables, hidden)
        self.last = _Masked(partial(_mask_of_logits, variables, self.outputs, hidden))
        # The hidden layers add nothing at first: training starts from the direct connections.
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, z: Binary) -> torch.Tensor:
        """Return the logits `[..., V o]`."""
        units = z
        for layer in self.hidden:
            units = layer(units).relu()
        logits: torch.Tensor = self.direct(z) + self.last(units)
        return logits

    def in_order(self, count: int) -> InOrder:
        """Return logits that store the sums of the first hidden layer."""
        return _MadeInOrder(self, count)


def _degrees(variables: int, hidden: int) -> torch.Tensor:
    """Return degrees 1 to V - 1 in turn: a unit of degree d sees variables 0 to d - 1."""
    return torch.arange(hidden) % max(variables - 1, 1) + 1


def _mask_of_inputs(variables: int, width: int, hidden: int) -> torch.Tensor:
    """Return the mask of units that see the entries of as many variables as their degree."""
    seen = torch.arange(variables).repeat_interleave(width) + 1
    return _degrees(variables, hidden)[:, None] >= seen[None]


def _mask_of_units(variables: int, hidden: int) -> torch.Tensor:
    """Return the mask of units that see units of at most their own degree."""
    degrees = _degrees(variables, hidden)
    return degrees[:, None] >= degrees[None]


def _mask_of_logits(variables: int, outputs: int, hidden: int) -> torch.Tensor:
    """Return the mask of logits: those of variable v see degrees up to v, variables below v."""
    of_logits = torch.arange(variables).repeat_interleave(outputs)
    return of_logits[:, None] >= _degrees(variables, hidden)[None]


class _Masked(ModuleWithConstants, Linear):
    """A linear layer whose weights outside a mask `[outputs, inputs]` count as zero."""

    mask: torch.Tensor

    def __init__(self, make: Callable[[], torch.Tensor]):
        outputs, inputs = make().shape
        super().__init__(inputs, outputs)
        self.register_constant("mask", make)

    @property
    def masked(self) -> torch.Tensor:
        """The weights that count `[outputs, inputs]`."""
        return self.weight * self.mask

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs `[..., outputs]`."""
        return torch.nn.functional.linear(inputs, self.masked, self.bias)


class _MadeInOrder:
    """The logits of `MADE` in order, with the sums of direct connections and first hidden layer."""

    def __init__(self, network: MADE, count: int):
        self.network = network
        self.direct = network.direct.in_order(count)
        first, *later = cast("list[_Masked]", list(network.hidden))
        self.into = first.masked
        # The sums of the first layer grow by one variable a step, instead of starting again.
        self.sums = first.bias.expand(count, -1).clone()
        self.later = [(layer.masked, layer.bias) for layer in later]
        self.out = network.last.masked
        self.variable = 0

    def next_logits(self) -> torch.Tensor:
        """Return the logits `[count, o]` of the next variable.

        Units of too high a degree have not seen all their variables yet. No later layer uses them
        for this variable.
        """
        units = self.sums.relu()
        for weight, bias in self.later:
            units = torch.nn.functional.linear(units, weight, bias).relu()
        places = self.network._logits(self.variable)
        through = torch.nn.functional.linear(
            units, self.out[places], self.network.last.bias[places]
        )
        return self.direct.next_logits() + through

    def append(self, values: torch.Tensor) -> None:
        """Add the share of a variable to all sums."""
        self.direct.append(values)
        self.sums += values @ self.into[:, self.network._entries(self.variable)].T
        self.variable += 1


class CausalTransformer(CausalNetwork):
    """A causal transformer: position v sees the variables before v by attention.

    Layers normalise before attention and before their two-layer perceptron. Positions are learnt.

    Args:
        variables: V.
        width: w.
        hidden: size of a position's vector, a multiple of `HEADS`.
        layers: number of layers.

    References:
        Vaswani and others (2017), Attention is all you need; Radford and others (2019), Language
        models are unsupervised multitask learners (normalisation first).
    """

    HEADS: ClassVar[int] = 4
    """The number of heads of the attention."""

    def __init__(self, variables: int, width: int, hidden: int = 64, layers: int = 2):
        super().__init__(variables, width)
        self.embedding = Linear(width, hidden)
        self.positions = nn.Parameter(0.02 * torch.randn(variables, hidden))
        self.start = nn.Parameter(torch.zeros(hidden))
        self.layers = nn.ModuleList(_Layer(hidden, self.HEADS) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.last = Linear(hidden, width)
        # Zero logits at first: the training starts from the uniform distribution.
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, z: Binary) -> torch.Tensor:
        """Return the logits `[..., V o]`."""
        before = z.shape[:-1]
        values = z.reshape(-1, self.variables, self.width)
        # Position v holds the value of variable v - 1; the first holds a vector of its own.
        shifted = self.embedding(values[:, :-1])
        start = self.start.expand(len(values), 1, -1)
        positions = torch.cat([start, shifted], dim=1) + self.positions
        for layer in self.layers:
            positions = layer(positions)
        logits: torch.Tensor = self.last(self.norm(positions))
        return logits.reshape(*before, -1)

    def in_order(self, count: int) -> InOrder:
        """Return logits that store the keys and values of all positions."""
        return _TransformerInOrder(self, count)


class _Layer(nn.Module):
    """One layer of a transformer: causal attention, then a perceptron, each added to its input."""

    def __init__(self, hidden: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(hidden)
        self.projections = Linear(hidden, 3 * hidden)
        self.attended = Linear(hidden, hidden)
        self.before_perceptron = nn.LayerNorm(hidden)
        self.up = Linear(hidden, 4 * hidden)
        self.down = Linear(4 * hidden, hidden)

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        """Return new vectors `[batch, V, hidden]` of positions."""
        queries, keys, values = self.heads_of(positions)
        mixed = scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.rest(positions, mixed)

    def heads_of(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return queries, keys and values `[batch, heads, V, hidden / heads]`."""
        batch, length, hidden = positions.shape
        together = self.projections(self.before_attention(positions))
        split = together.reshape(batch, length, 3, self.heads, hidden // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        return queries, keys, values

    def rest(self, positions: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
        """Return the layer's output from the result of each attention head."""
        joined = mixed.transpose(1, 2).reshape(positions.shape)
        positions = positions + self.attended(joined)
        inner = torch.nn.functional.gelu(self.up(self.before_perceptron(positions)))
        after: torch.Tensor = positions + self.down(inner)
        return after


class _TransformerInOrder:
    """The logits of `CausalTransformer` in order, with keys and values of each layer so far."""

    def __init__(self, network: CausalTransformer, count: int):
        self.network = network
        self.kept: list[tuple[torch.Tensor, torch.Tensor] | None] = [None] * len(network.layers)
        self.vector = network.start.expand(count, 1, -1)
        self.variable = 0

    def next_logits(self) -> torch.Tensor:
        """Return the logits `[count, o]` of the next variable."""
        position = self.vector + self.network.positions[self.variable]
        layers = cast("list[_Layer]", list(self.network.layers))
        for place, layer in enumerate(layers):
            queries, keys, values = layer.heads_of(position)
            # Keys and values of earlier variables do not
            # change, so each step computes only its own.
            earlier = self.kept[place]
            if earlier is not None:
                keys = torch.cat([earlier[0], keys], dim=2)
                values = torch.cat([earlier[1], values], dim=2)
            self.kept[place] = (keys, values)
            mixed = scaled_dot_product_attention(queries, keys, values)
            position = layer.rest(position, mixed)
        logits: torch.Tensor = self.network.last(self.network.norm(position))
        return logits[:, 0]

    def append(self, values: torch.Tensor) -> None:
        """Make the values of a variable the input of the next position."""
        self.vector = self.network.embedding(values)[:, None]
        self.variable += 1
