"""Likelihoods: the distribution of an image's values given the outputs of a decoder, by name."""

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
"""Smallest standard deviation of a Gaussian value, one step of stored intensities.

It bounds the cost from below: without it, an image reproduced exactly would cost minus infinity.
"""

LEVELS: Final = 255
"""The largest stored intensity."""

START_INTENSITY_SCALE: Final = 0.1
"""Standard deviation of a stored intensity before training, a little more than after it."""

SCALE_GAIN: Final = 10.0
"""The logarithm of that deviation over the weight that is learnt."""

START_SCALE: Final = 0.3
"""Standard deviation of a Gaussian value before training."""


class Likelihood(nn.Module, ABC):
    """A distribution p(x | outputs) in which the values of an image are independent."""

    @abstractmethod
    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """Return -log p(x | outputs) in nats: `[..., batch]`.

        Args:
            outputs: `[..., batch, pixels]`.
            x: `[batch, pixels]`.
        """

    @abstractmethod
    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """Return the cost of every image under the outputs of every state: `[batch, states]`.

        Args:
            outputs: `[states, pixels]`.
            x: `[batch, pixels]`.
        """

    @abstractmethod
    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the mean image for `outputs [..., pixels]`: `[..., pixels]`."""

    def draw(self, outputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return an image drawn from the distribution, `[..., pixels]`, without gradient.

        Raises:
            SettingError: a custom likelihood has no `draw`.
        """
        raise SettingError(
            f"{type(self).__name__} cannot draw images: implement draw(outputs, generator)"
        )


class BernoulliLikelihood(Likelihood):
    """The Bernoulli likelihood: each value is 0 or 1, and the outputs are logits.

    For grey values the cost is the cross-entropy, which is not a negative log-likelihood.

    Example:
        >>> BernoulliLikelihood().cost(torch.zeros(1, 2), torch.ones(1, 2))
        tensor([1.3863])
    """

    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """Return sum softplus(outputs) - x.outputs, in nats: `[..., batch]`."""
        losses = binary_cross_entropy_with_logits(outputs, x.expand_as(outputs), reduction="none")
        return losses.sum(dim=-1)

    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """Return the cost of every image under every state, by one product: `[batch, states]`."""
        return softplus(outputs).sum(dim=-1) - x @ outputs.T

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the probability of a one for each value: `[..., pixels]`."""
        return outputs.sigmoid()

    @torch.no_grad()
    def draw(self, outputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return zeros and ones, `[..., pixels]`."""
        return torch.bernoulli(outputs.sigmoid(), generator=generator)


class GaussianLikelihood(Likelihood):
    """The Gaussian likelihood: outputs are means, and all values share a learnt deviation.

    The cost is the negative logarithm of a density, in nats; it can be negative if the standard
    deviation is below 0.24. The standard deviation is always above 1/255.

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
        """Return sum [(x - outputs)^2 / (2 scale^2) + log(scale sqrt(2 pi))]: `[..., batch]`."""
        return self._cost((outputs - x).square().sum(dim=-1), x)

    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """Return the cost of every image under every state: `[batch, states]`."""
        return self._cost(_square_distances(outputs, x), x).to(outputs.dtype)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs, which are the means: `[..., pixels]`."""
        return outputs

    @torch.no_grad()
    def draw(self, outputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return the means plus normal noise of the learnt deviation, `[..., pixels]`."""
        noise = torch.empty_like(outputs).normal_(generator=generator)
        return outputs + self.scale * noise

    def _cost(self, squares: torch.Tensor, x: Images) -> torch.Tensor:
        volume = x.shape[-1] * (self.scale.log() + math.log(2 * math.pi) / 2)
        return squares / (2 * self.scale**2) + volume


class DiscretisedGaussianLikelihood(Likelihood):
    """A distribution of stored intensities 0, 1/255, ..., 1: outputs are means.

    The probability of an intensity is its Gaussian density over 255, the width of a step. Since the
    standard deviation is above 1/255, these probabilities sum to at most 1 + 6e-9 over all steps
    (Poisson's summation formula). The cost is at least that of a distribution of images, in nats.

    All values share a learnt deviation. Its logarithm is ten times the weight that is learnt: Adam
    moves each weight by the same amount per step, and a wrong deviation misjudges every value.

    Example:
        >>> x = torch.tensor([[0.2, 0.4]])
        >>> DiscretisedGaussianLikelihood().cost(x, x)
        tensor([8.3152], grad_fn=<AddBackward0>)
    """

    def __init__(self) -> None:
        super().__init__()
        start = torch.tensor(START_INTENSITY_SCALE - SMALLEST_SCALE)
        self.scaled_log_scale = nn.Parameter(start.log() / SCALE_GAIN)

    @property
    def scale(self) -> torch.Tensor:
        """The standard deviation of an intensity."""
        return (SCALE_GAIN * self.scaled_log_scale).exp() + SMALLEST_SCALE

    def cost(self, outputs: torch.Tensor, x: Images) -> Costs:
        """Return sum [(x - outputs)^2 / (2 scale^2) + log(255 scale sqrt(2 pi))] `[..., batch]`."""
        return self._cost((outputs - x).square().sum(dim=-1), x)

    def table(self, outputs: torch.Tensor, x: Images) -> Table:
        """Return the cost of every image under the outputs of every state: `[batch, states]`."""
        return self._cost(_square_distances(outputs, x), x).to(outputs.dtype)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs, which are the means: `[..., pixels]`."""
        return outputs

    def _cost(self, squares: torch.Tensor, x: Images) -> torch.Tensor:
        scale = self.scale
        volume = x.shape[-1] * (scale.log() + math.log(LEVELS) + math.log(2 * math.pi) / 2)
        return squares / (2 * scale**2) + volume


def _square_distances(outputs: torch.Tensor, x: Images) -> torch.Tensor:
    """Return |x - outputs|^2 of every image and state, in float64: `[batch, states]`."""
    # The squares are expanded, which cancels; hence float64.
    means = outputs.double()
    values = x.double()
    squares = values.square().sum(dim=-1)[:, None] + means.square().sum(dim=-1)
    return (squares - 2 * values @ means.T).clamp(min=0)


LIKELIHOODS: Final[dict[str, Callable[[], Likelihood]]] = {
    "bernoulli": BernoulliLikelihood,
    "gaussian": GaussianLikelihood,
    "discretised_gaussian": DiscretisedGaussianLikelihood,
}
"""The likelihoods that a custom decoder can have, by name."""


def likelihood_of(name: str) -> Likelihood:
    """Make the likelihood with this name.

    Raises:
        SettingError: no likelihood has this name.
    """
    if not isinstance(name, str) or name not in LIKELIHOODS:
        raise SettingError(f"no likelihood is called {name!r}; there are: {', '.join(LIKELIHOODS)}")
    return LIKELIHOODS[name]()


def likelihood_name(likelihood: Likelihood) -> str:
    """Return the name of a likelihood in `LIKELIHOODS`, or else the name of its class."""
    names = (name for name, kind in LIKELIHOODS.items() if type(likelihood) is kind)
    return next(names, type(likelihood).__name__)
