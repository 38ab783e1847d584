"""Custom networks in place of ours: any module that returns potentials or decodes states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ..errors import NetworkError, SettingError
from ..likelihoods import BernoulliLikelihood, Likelihood, likelihood_name, likelihood_of
from ..potentials import AnyPotentials, CategoricalPotentials, LatentSpace, Potentials
from ..shapes import Binary, Costs, Images, Logits, Table
from ..states import single_changes
from .decoder import DECODED_TOGETHER, Flips, Neighbourhood, changes_together, flips_by_columns

KEPT_OUTPUTS: Final = 1 << 26
"""Maximum number of outputs kept for all images, 256 MiB in float32.

If all states have more, each batch decodes them again.
"""

PERCEPTRON: Final = (
    nn.Linear, nn.Dropout, nn.Identity,
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.SELU, nn.SiLU, nn.GELU, nn.Softplus, nn.Sigmoid, nn.Tanh,
)  # fmt: skip
"""The layers of a decoder for which `flips_by_columns` can skip the first layer."""


class FastPaths(Protocol):
    """Optional methods of a custom decoder that replace n + 1 decodes by something faster.

    Each method must agree with `forward` and the likelihood.
    """

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """Return -log p(x | z) in nats for `z [..., batch, n]`: `[..., batch]`.

        It can implement a custom likelihood.
        """

    def flips(self, x: Images, z: Binary) -> Flips:
        """Return the costs at bits `z [..., batch, n]` and at all single flips, no gradient."""

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """Return -log p(x | z) of each of `states [states, n]`: `[batch, states]`.

        It must be differentiable in the decoder.
        """


@dataclass(frozen=True)
class Shape:
    """The latent space of a custom encoder, as its first potentials show it.

    Attributes:
        pixels: number of values of an image.
        n: number of bits, or of categories of all variables together.
        variables: number of variables: bits, or variables with categories.
        categorical: whether the variables have categories.
    """

    pixels: int
    n: int
    variables: int
    categorical: bool


class NetworkEncoder(nn.Module):
    """A custom network as an encoder; its latent space is read from the first potentials.

    Args:
        network: maps images `[batch, pixels]` to `Potentials` or `CategoricalPotentials`.

    Attributes:
        custom: whether a caller gave the network: True.
        name: the name of the class of the custom network.
    """

    custom: ClassVar[bool] = True

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network
        self.shape: Shape | None = None
        self.space: LatentSpace | None = None

    def forward(self, x: Images) -> AnyPotentials:
        """Return the potentials of each image of `x [batch, pixels]`.

        Raises:
            NetworkError: the network returns something else, or potentials of another size than
                before.
        """
        potentials = self.network(x)
        if not isinstance(potentials, Potentials | CategoricalPotentials):
            raise NetworkError(
                f"{type(self.network).__name__} must return models.Potentials or "
                f"models.CategoricalPotentials; it returned {_what(potentials)}"
            )
        shape = _shape_of(potentials, x.shape[-1])
        if self.shape not in (None, shape) or len(potentials.unary) != len(x):
            n: int | str = "n"
            if self.shape:
                n = self.shape.n
            raise NetworkError(
                f"{type(self.network).__name__} returned unary scores "
                f"{list(potentials.unary.shape)} for images {list(x.shape)}; "
                f"expected {[len(x), n]}"
            )
        self.shape = shape
        if self.space is not None:
            return replace(potentials, space=self.space)
        return potentials

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> AnyPotentials:
            """Call `forward`; declared since torch's own type is Any."""

    @property
    def n(self) -> int:
        """The number of bits, or of categories.

        Raises:
            NetworkError: the network has not seen an image.
        """
        return self.known().n

    @property
    def name(self) -> str:
        """The name of the class of the custom network."""
        return type(self.network).__name__

    @property
    def variables(self) -> int:
        """The number of variables: bits, or variables with categories.

        Raises:
            NetworkError: the network has not seen an image.
        """
        return self.known().variables

    @property
    def categorical(self) -> bool:
        """Whether the variables have categories.

        Raises:
            NetworkError: the network has not seen an image.
        """
        return self.known().categorical

    @property
    def pixels(self) -> int:
        """The number of values of an image.

        Raises:
            NetworkError: the network has not seen an image.
        """
        return self.known().pixels

    def takes(self, space: LatentSpace) -> bool:
        """Return whether states may be restricted to a space; the potentials will tell."""
        return True

    def known(self) -> Shape:
        """Return the latent space of the network.

        Raises:
            NetworkError: the network has not seen an image.
        """
        if self.shape is None:
            raise NetworkError(
                "the number of latent variables is read from the encoder's potentials, but the "
                "encoder has not seen an image: pass the size of an image, "
                "DiscreteVAE(encoder, decoder, pixels=...)"
            )
        return self.shape


def _shape_of(potentials: AnyPotentials, pixels: int) -> Shape:
    n = potentials.unary.shape[-1]
    return Shape(pixels, n, potentials.variable_count, potentials.categorical)


@dataclass(frozen=True, eq=False)
class StatesOfNetwork:
    """Latent states that a `NetworkDecoder` decodes once, if their outputs fit into memory.

    Attributes:
        decoder: the decoder of the states.
        states: `[states, n]`.
        outputs: `[states, pixels]`; None if there are too many, or if the custom network has its
            own `table` or `cost`.
    """

    decoder: NetworkDecoder
    states: torch.Tensor
    outputs: torch.Tensor | None

    def costs(self, x: Images) -> Table:
        """Return -log p(x | z) of each state in nats: `[batch, states]`."""
        if self.outputs is None:
            return self.decoder.table(x, self.states)
        return self.decoder.likelihood.table(self.outputs, x)


class NetworkDecoder(nn.Module):
    """A custom network as a decoder, which needs only `forward(z)` and a likelihood.

    Costs, the n + 1 decodes around a state, tables of states and mean images are computed from
    them. If the network has a method of `FastPaths`, that method is called instead. The decodes
    around a state run without gradient and in evaluation mode, so that dropout and batch
    normalisation do not add to the change of the cost caused by a flip.

    Args:
        network: maps states `[count, n]` to `[count, pixels]`, or to
            `[count, channels, height, width]`.
        likelihood: a name of `LIKELIHOODS`, or a `Likelihood`.

    Raises:
        SettingError: no likelihood has this name.

    Example:
        >>> decoder = NetworkDecoder(nn.Linear(3, 9))
        >>> decoder.flips(torch.ones(2, 9), torch.zeros(2, 3)).flipped.shape
        torch.Size([2, 3])

    Attributes:
        custom: whether a caller gave the network: True.
        name: the name of the class of the custom network.
    """

    custom: ClassVar[bool] = True

    def __init__(self, network: nn.Module, likelihood: str | Likelihood = "bernoulli"):
        super().__init__()
        self.network = network
        if not isinstance(likelihood, Likelihood):
            likelihood = likelihood_of(likelihood)
        self.likelihood = likelihood
        self.categories_of = 0

    def forward(self, z: torch.Tensor) -> Logits:
        """Return the network's outputs for states `z [..., n]`: `[..., pixels]`.

        Raises:
            NetworkError: the network returns something else than one output per state.
        """
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
            """Call `forward`; declared since torch's own type is Any."""

    @property
    def name(self) -> str:
        """The name of the class of the custom network."""
        return type(self.network).__name__

    @property
    def pixels(self) -> int | None:
        """The number of values of an image, which the network does not tell: None."""
        return None

    @property
    def likelihood_name(self) -> str:
        """The name of the likelihood, or of its class."""
        return likelihood_name(self.likelihood)

    def has_likelihood(self, likelihood: str | Likelihood) -> bool:
        """Return whether the decoder has this likelihood."""
        return likelihood in (self.likelihood_name, self.likelihood)

    def agree(self, n: int, variables: int, categorical: bool) -> None:
        """Learn how many variables have categories.

        Args:
            n: the length of a state.
            variables: the number of variables of the encoder.
            categorical: whether they have categories.
        """
        self.categories_of = 0
        if categorical:
            self.categories_of = variables

    def mean(self, z: torch.Tensor) -> Logits:
        """Return the mean image of each state: `[..., pixels]`."""
        return self.likelihood.mean(self(z))

    def draw(self, z: torch.Tensor, generator: torch.Generator) -> Images:
        """Return an image drawn from p(x | z) for each state, `[..., pixels]`, without gradient.

        Raises:
            SettingError: the distribution is not known: the network has a `cost` of its own, or a
                custom likelihood no `draw`.
        """
        if self._fast_path("cost"):
            raise SettingError(
                f"{type(self.network).__name__} has a cost of its own, so that images cannot be "
                "drawn from its likelihood"
            )
        with torch.no_grad(), evaluating(self):
            return self.likelihood.draw(self(z), generator)

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """Return -log p(x | z) in nats for `z [..., batch, n]`: `[..., batch]`.

        It is differentiable in the network and in relaxed states.
        """
        cost = self._fast_path("cost")
        if cost is not None:
            return cost(x, z)  # type: ignore[no-any-return]  # FastPaths states the type
        return self.likelihood.cost(self(z), x)

    def around(self, x: Images, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at `z [..., batch, n]`, and its changes, which have no gradient."""
        if not self.categories_of:
            return Neighbourhood(self.cost(x, z), self.flips(x, z).slope)
        with torch.no_grad(), evaluating(self):
            if self.categories_of > 1:
                changes = single_changes(z, self.categories_of).movedim(-2, 0)
                chunks = torch.split(changes, changes_together(x, z))
                changed = torch.cat([self.cost(x, chunk) for chunk in chunks])
            else:
                # One variable has the same k states for all images.
                states = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
                changed = self.table(x, states).T
        return Neighbourhood(self.cost(x, z), changed.movedim(0, -1).expand_as(z))

    @torch.no_grad()
    def flips(self, x: Images, z: Binary) -> Flips:
        """Return the costs at `z [..., batch, n]` and at all single flips, in n + 1 decodes.

        An `nn.Sequential` of linear layers and activations is decoded by `flips_by_columns`.
        """
        with evaluating(self):
            flips = self._fast_path("flips")
            if flips is not None:
                return flips(x, z)  # type: ignore[no-any-return]  # FastPaths states the type
            is_bernoulli = type(self.likelihood) is BernoulliLikelihood
            if is_bernoulli and not self._fast_path("cost"):
                layers = _linear_ends(self.network)
                if layers is not None:
                    first, between, last = layers
                    return flips_by_columns(x, z, first(z), first.weight.T, between, last)
            return self._flips_by_decoding(x, z)

    def _flips_by_decoding(self, x: Images, z: Binary) -> Flips:
        flips = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        moves = torch.cat([torch.zeros_like(flips[:1]), flips])  # move 0 changes nothing
        moves = moves.view(-1, *[1] * (z.ndim - 1), z.shape[-1])
        chunks = torch.split(moves, changes_together(x, z))
        costs = torch.cat([self.cost(x, (z - chunk).abs()) for chunk in chunks])
        return Flips(costs[0], costs[1:].movedim(0, -1), z)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """Return -log p(x | z) of each state in nats, differentiable: `[batch, states]`.

        With gradients, the backward pass decodes again instead of storing the outputs of all
        states.
        """
        table = self._fast_path("table")
        if table is not None:
            return table(x, states)  # type: ignore[no-any-return]  # FastPaths states the type
        chunks = torch.split(states, max(1, DECODED_TOGETHER // x.shape[-1]))
        if len(chunks) == 1 or not torch.is_grad_enabled():
            tables = [self._table(x, chunk) for chunk in chunks]
        else:
            tables = [checkpoint(self._table, x, chunk, use_reentrant=False) for chunk in chunks]
        return torch.cat(tables, dim=-1)

    def decoded(self, states: torch.Tensor) -> StatesOfNetwork:
        """Decode states `[states, n]`, for the costs of any number of images."""
        pixels = self(states[:1]).shape[-1]
        has_fast_path = self._fast_path("table") or self._fast_path("cost")
        if has_fast_path or len(states) * pixels > KEPT_OUTPUTS:
            return StatesOfNetwork(self, states, None)
        chunks = torch.split(states, max(1, DECODED_TOGETHER // pixels))
        return StatesOfNetwork(self, states, torch.cat([self(chunk) for chunk in chunks]))

    def _table(self, x: Images, states: torch.Tensor) -> Table:
        if self._fast_path("cost"):
            return self.cost(x, states[:, None, :].expand(-1, len(x), -1)).T
        return self.likelihood.table(self(states), x)

    def _fast_path(self, method: str) -> Callable[..., Any] | None:
        """Return this method of `FastPaths` if the custom network has it."""
        path: Callable[..., Any] | None = getattr(self.network, method, None)
        if callable(path):
            return path
        return None


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Put every layer into evaluation mode, and restore its mode at the end."""
    trained = [layer for layer in network.modules() if layer.training]
    network.eval()
    try:
        yield
    finally:
        for layer in trained:
            layer.training = True


def _linear_ends(network: nn.Module) -> tuple[nn.Linear, nn.Sequential, nn.Linear] | None:
    """Return the first, the middle and the last layers of a perceptron; None for other networks.

    A perceptron consists of linear layers with elementwise functions between them. Such layers
    accept any leading dimensions, and a flip changes the output of the first one by one column.
    Networks with hooks are excluded, since a hook could change this.
    """
    if type(network) is not nn.Sequential:
        return None
    layers = list(network)
    is_perceptron = all(type(layer) in PERCEPTRON for layer in layers)
    # A hook may change what a layer returns, so the columns of its weights would be wrong.
    hooked = any(layer._forward_hooks or layer._forward_pre_hooks for layer in (network, *layers))
    if len(layers) < 2 or not is_perceptron or hooked:
        return None
    first, *between, last = layers
    if not (isinstance(first, nn.Linear) and isinstance(last, nn.Linear)) or last.bias is None:
        return None
    return first, nn.Sequential(*between), last


def _what(value: object) -> str:
    shape = ""
    if isinstance(value, torch.Tensor):
        shape = f" {list(value.shape)}"
    return f"a {type(value).__name__}{shape}"
