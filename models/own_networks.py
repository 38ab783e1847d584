"""Networks of one's own in the place of ours: any module that gives potentials, any that takes states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .decoder import DECODED_TOGETHER, Flips, Neighbourhood, changes_together, flips_by_columns
from .errors import NetworkError
from .likelihoods import BernoulliLikelihood, Likelihood, likelihood_of
from .potentials import AnyPotentials, CategoricalPotentials, LatentSpace, Potentials
from .shapes import Binary, Costs, Images, Logits, Table
from .states import single_changes

KEPT_OUTPUTS: Final = 1 << 26
"""Values of decoded states that are kept for all images: 256 MiB in float32; of more, each batch decodes them again."""

PERCEPTRON: Final = (
    nn.Linear, nn.Dropout, nn.Identity,
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.SELU, nn.SiLU, nn.GELU, nn.Softplus, nn.Sigmoid, nn.Tanh,
)  # fmt: skip
"""Layers of a decoder whose flips need not pass through its first layer."""


class FastPaths(Protocol):
    """What a decoder of one's own may have beside `forward`; what it has is asked in the place of n + 1 decodes.

    Each of these methods is optional, and must agree with `forward` and the likelihood.
    """

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """`[..., batch]`: -log p(x | z) of `z [..., batch, n]` in nats; also a likelihood of one's own."""

    def flips(self, x: Images, z: Binary) -> Flips:
        """The costs at `z [..., batch, n]`, bits, and at every single flip, without gradient."""

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """`[batch, states]`: -log p(x | z) of each of `states [states, n]`, differentiable in the decoder."""


@dataclass(frozen=True)
class Shape:
    """What the potentials of an image have said.

    Attributes:
        pixels: of an image.
        n: bits, or categories of all variables.
        variables: bits, or variables that have categories.
        categorical: whether they are categories.
    """

    pixels: int
    n: int
    variables: int
    categorical: bool


class NetworkEncoder(nn.Module):
    """A network of one's own that gives potentials; what they are is read from the first that it gives.

    Args:
        network: takes images `[batch, pixels]`, returns `Potentials` or `CategoricalPotentials`.
    """

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network
        self.shape: Shape | None = None
        self.space: LatentSpace | None = None

    def forward(self, x: Images) -> AnyPotentials:
        """The potentials of each image of `x [batch, pixels]`.

        Raises:
            NetworkError: the network gives something else, or potentials of another n than before.
        """
        potentials = self.network(x)
        if not isinstance(potentials, Potentials | CategoricalPotentials):
            raise NetworkError(
                f"{type(self.network).__name__} must return models.Potentials or models.CategoricalPotentials; "
                f"it returned {_what(potentials)}"
            )
        n = potentials.unary.shape[-1]
        categorical = isinstance(potentials, CategoricalPotentials)
        variables = potentials.variables if isinstance(potentials, CategoricalPotentials) else n
        found = Shape(x.shape[-1], n, variables, categorical)
        if self.shape not in (None, found) or len(potentials.unary) != len(x):
            raise NetworkError(
                f"{type(self.network).__name__} gave unary scores {list(potentials.unary.shape)} for images "
                f"{list(x.shape)}; expected {[len(x), self.shape.n if self.shape else 'n']}"
            )
        self.shape = found
        if self.space is not None:
            return replace(potentials, space=self.space)
        return potentials

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> AnyPotentials:
            """As `forward`; torch says Any."""

    @property
    def n(self) -> int:
        """Bits, or categories.

        Raises:
            NetworkError: the network has not seen an image.
        """
        return self.known().n

    def known(self) -> Shape:
        """What its potentials are.

        Raises:
            NetworkError: it has not seen an image.
        """
        if self.shape is None:
            raise NetworkError(
                "how many latent variables there are is read from the encoder's potentials, and it has not seen an "
                "image: give the size of one, DiscreteVAE(encoder, decoder, pixels=...)"
            )
        return self.shape


@dataclass(frozen=True, eq=False)
class StatesOfNetwork:
    """States that a `NetworkDecoder` was asked for, decoded once where their outputs can be kept.

    Attributes:
        decoder: of the states.
        states: `[states, n]`.
        outputs: `[states, pixels]`; None where they are too many, or the decoder has a table of its
            own.
    """

    decoder: NetworkDecoder
    states: torch.Tensor
    outputs: torch.Tensor | None

    def costs(self, x: Images) -> Table:
        """`[batch, states]`: -log p(x | z) of each state in nats."""
        if self.outputs is None:
            return self.decoder.table(x, self.states)
        return self.decoder.likelihood.table(self.outputs, x)


class NetworkDecoder(nn.Module):
    """A network of one's own as a decoder: `forward(z)` and a likelihood are all that it needs.

    Costs, the n + 1 decodes around a state, tables of states and mean images follow from them.
    Methods of `FastPaths` that the network has are asked instead. In the decodes around a state,
    which take no gradient, layers that act otherwise in training (dropout, batch normalisation) are
    in evaluation mode, so that a change of the cost is that of the flip alone.

    Args:
        network: takes states `[count, n]`, returns `[count, pixels]`, or
            `[count, channels, height, width]`.
        likelihood: a name of `LIKELIHOODS`, or an object.

    Raises:
        SettingError: there is no such likelihood.

    Example:
        >>> decoder = NetworkDecoder(nn.Linear(3, 9))
        >>> decoder.flips(torch.ones(2, 9), torch.zeros(2, 3)).flipped.shape
        torch.Size([2, 3])
    """

    def __init__(self, network: nn.Module, likelihood: str | Likelihood = "bernoulli"):
        super().__init__()
        self.network = network
        self.likelihood = (
            likelihood if isinstance(likelihood, Likelihood) else likelihood_of(likelihood)
        )
        self.categories_of = 0

    def forward(self, z: torch.Tensor) -> Logits:
        """`[..., pixels]`: what the network gives for states `z [..., n]`."""
        outputs = self.network(z.reshape(-1, z.shape[-1]))
        count = z.shape[:-1].numel()
        if not isinstance(outputs, torch.Tensor) or not outputs.ndim or len(outputs) != count:
            raise NetworkError(
                f"{type(self.network).__name__} must return a tensor [{count}, pixels] for states "
                f"{[count, z.shape[-1]]}; it returned {_what(outputs)}"
            )
        return outputs.reshape(*z.shape[:-1], math.prod(outputs.shape[1:]))

    if TYPE_CHECKING:

        def __call__(self, z: torch.Tensor) -> Logits:
            """As `forward`; torch says Any."""

    def mean(self, z: torch.Tensor) -> Logits:
        """`[..., pixels]`: the mean image of each state."""
        return self.likelihood.mean(self(z))

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """`[..., batch]`: -log p(x | z) in nats, differentiable in the network and in relaxed states."""
        own = self._own("cost")
        return own(x, z) if own else self.likelihood.cost(self(z), x)

    def around(self, x: Images, z: torch.Tensor) -> Neighbourhood:
        """The cost at `z [..., batch, n]` with its gradient, and its change in each coordinate without one."""
        if not self.categories_of:
            return Neighbourhood(self.cost(x, z), self.flips(x, z).slope)
        with torch.no_grad(), evaluating(self):
            if self.categories_of > 1:
                parts = torch.split(
                    single_changes(z, self.categories_of).movedim(-2, 0), changes_together(x, z)
                )
                changed = torch.cat([self.cost(x, part) for part in parts])
            else:
                changed = self.table(x, torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)).T
        return Neighbourhood(self.cost(x, z), changed.movedim(0, -1).expand_as(z))

    @torch.no_grad()
    def flips(self, x: Images, z: Binary) -> Flips:
        """The costs at `z [..., batch, n]` and at every single flip, by n + 1 decodes an image.

        Of an `nn.Sequential` of linear layers and activations by `flips_by_columns`.
        """
        with evaluating(self):
            if own := self._own("flips"):
                return own(x, z)  # type: ignore[no-any-return]  # FastPaths says so
            bernoulli = type(self.likelihood) is BernoulliLikelihood and not self._own("cost")
            if bernoulli and (ends := _linear_ends(self.network)):
                first, between, last = ends
                return flips_by_columns(x, z, first(z), first.weight.T, between, last)
            flips = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
            moves = torch.cat([torch.zeros_like(flips[:1]), flips]).view(
                -1, *[1] * (z.ndim - 1), z.shape[-1]
            )
            parts = torch.split(moves, changes_together(x, z))
            costs = torch.cat([self.cost(x, (z - part).abs()) for part in parts])
        return Flips(costs[0], costs[1:].movedim(0, -1), z)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """`[batch, states]`: -log p(x | z) of each state in nats, differentiable in the network.

        With gradients, backwards decodes again rather than keep the outputs of all states.
        """
        if own := self._own("table"):
            return own(x, states)  # type: ignore[no-any-return]  # FastPaths says so
        parts = torch.split(states, max(1, DECODED_TOGETHER // x.shape[-1]))
        if len(parts) == 1 or not torch.is_grad_enabled():
            return torch.cat([self._part(x, part) for part in parts], dim=-1)
        tables = [checkpoint(self._part, x, part, use_reentrant=False) for part in parts]
        return torch.cat(tables, dim=-1)

    def decoded(self, states: torch.Tensor) -> StatesOfNetwork:
        """States `[states, n]`, for the costs of any number of images."""
        outputs = self(states[:1])
        if (
            self._own("table")
            or self._own("cost")
            or len(states) * outputs.shape[-1] > KEPT_OUTPUTS
        ):
            return StatesOfNetwork(self, states, None)
        parts = torch.split(states, max(1, DECODED_TOGETHER // outputs.shape[-1]))
        return StatesOfNetwork(self, states, torch.cat([self(part) for part in parts]))

    def _part(self, x: Images, states: torch.Tensor) -> Table:
        if self._own("cost"):
            return self.cost(x, states[:, None, :].expand(-1, len(x), -1)).T
        return self.likelihood.table(self(states), x)

    def _own(self, method: str) -> Callable[..., Any] | None:
        """The network's own fast path, if it has one."""
        own = getattr(self.network, method, None)
        return own if callable(own) else None


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Inside it every layer is in evaluation mode; afterwards each is in the mode that it was in."""
    trained = [layer for layer in network.modules() if layer.training]
    network.eval()
    try:
        yield
    finally:
        for layer in trained:
            layer.training = True


def _linear_ends(network: nn.Module) -> tuple[nn.Linear, nn.Sequential, nn.Linear] | None:
    """The first layer, those between, and the last, of linear layers with functions of single values between them.

    Such layers take any number of leading dimensions, and a flip moves what the first one gives by
    one column. None for other networks, and where something is hooked on.
    """
    layers = list(network) if type(network) is nn.Sequential else []
    known = all(type(layer) in PERCEPTRON for layer in layers)
    hooked = any(layer._forward_hooks or layer._forward_pre_hooks for layer in (network, *layers))
    if len(layers) < 2 or not known or hooked:
        return None
    first, *between, last = layers
    if not (isinstance(first, nn.Linear) and isinstance(last, nn.Linear)) or last.bias is None:
        return None
    return first, nn.Sequential(*between), last


def _what(value: object) -> str:
    shape = f" {list(value.shape)}" if isinstance(value, torch.Tensor) else ""
    return f"a {type(value).__name__}{shape}"
