"""What the outputs of a decoder say of an image: a distribution of each of its values, by name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from .errors import SettingError
from .shapes import Costs, Images, Table

SMALLEST_SCALE: Final = 1 / 255
"""Of a Gaussian value: that of a step of stored intensities, so that an image known by heart costs no -infinity."""

START_SCALE: Final = 0.3


class Likelihood(nn.Module, ABC):
    """p(x | outputs), independent over the values of an image."""

    @abstractmethod
    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """`[..., batch]`: -log p(x | outputs) in nats, of `outputs [..., batch, pixels]`."""

    @abstractmethod
    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """`[batch, states]`: that of every image `x [batch, pixels]` under each of `outputs [states, pixels]`."""

    @abstractmethod
    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """`[..., pixels]`: the mean image."""


class BernoulliLikelihood(Likelihood):
    """Each value is 0 or 1, and outputs are logits; for grey values the cross-entropy, which bounds nothing.

    Example:
        >>> BernoulliLikelihood().cost(torch.zeros(1, 2), torch.ones(1, 2))
        tensor([1.3863])
    """

    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """`[..., batch]`: sum softplus(outputs) - x.outputs, in nats."""
        losses = binary_cross_entropy_with_logits(outputs, x.expand_as(outputs), reduction="none")
        return losses.sum(dim=-1)

    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """`[batch, states]`: the same of every pair of image and state, by one product."""
        return softplus(outputs).sum(dim=-1) - x @ outputs.T

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """`[..., pixels]`: probabilities of a one."""
        return outputs.sigmoid()


class GaussianLikelihood(Likelihood):
    """Each value is normal, outputs are means; one standard deviation, which is learnt, for all of them.

    The cost is that of a density: in nats, and below zero where values are known to less than 0.24.
    The standard deviation is above 1/255.

    Example:
        >>> likelihood = GaussianLikelihood()
        >>> likelihood.scale
        tensor(0.3000, grad_fn=<AddBackward0>)
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(START_SCALE - SMALLEST_SCALE).log())

    @property
    def scale(self) -> torch.Tensor:
        """The standard deviation of a value."""
        return self.log_scale.exp() + SMALLEST_SCALE

    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """`[..., batch]`: sum (x - outputs)^2 / (2 scale^2) + log(scale sqrt(2 pi)), in nats."""
        return self._cost((outputs - x).square().sum(dim=-1), x)

    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """`[batch, states]`: the same of every pair of image and state; the squares are expanded in float64."""
        means, values = outputs.double(), x.double()
        squares = (
            values.square().sum(dim=-1)[:, None] - 2 * values @ means.T + means.square().sum(dim=-1)
        )
        return self._cost(squares.clamp(min=0), x).to(outputs.dtype)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """`[..., pixels]`: the outputs themselves."""
        return outputs

    def _cost(self, squares: torch.Tensor, x: Images) -> torch.Tensor:
        volume = x.shape[-1] * (self.scale.log() + math.log(2 * math.pi) / 2)
        return squares / (2 * self.scale**2) + volume


LIKELIHOODS: Final[dict[str, Callable[[], Likelihood]]] = {
    "bernoulli": BernoulliLikelihood,
    "gaussian": GaussianLikelihood,
}
"""By the name that a decoder of one's own is given with."""


def likelihood_of(name: str) -> Likelihood:
    """The likelihood of that name.

    Raises:
        SettingError: there is none.
    """
    if name not in LIKELIHOODS:
        raise SettingError(f"no likelihood is called {name!r}; there are: {', '.join(LIKELIHOODS)}")
    return LIKELIHOODS[name]()


def likelihood_name(likelihood: Likelihood) -> str:
    """The name under which `LIKELIHOODS` has it; that of its class where it is another."""
    names = (name for name, kind in LIKELIHOODS.items() if type(likelihood) is kind)
    return next(names, type(likelihood).__name__)
