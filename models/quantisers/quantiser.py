"""The base class of quantisers, and a measure of codebook use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from ..arguments import whole_number
from ..errors import SettingError
from ..potentials import AnyPotentials, CategoricalPotentials, Potentials
from ..states import codes_of, of_variables


@dataclass(frozen=True, eq=False)
class Quantised:
    """The codes of a batch of images.

    Attributes:
        z: `[batch, n]`, bits, or the one-hot vectors of all variables; without gradient.
        vectors: `[batch, features]`, the input of the decoder: the vectors that the codes stand
            for, whose gradient goes straight through to the encoder.
        commitment: the mean square distance of the encoder's vectors from those of their codes; its
            gradient goes to the encoder alone.
        entropy: nats per bit: the mean entropy of soft codes less the entropy of their mean; 0 for
            quantisers without soft codes.
    """

    z: torch.Tensor
    vectors: torch.Tensor
    commitment: torch.Tensor
    entropy: torch.Tensor


class Quantiser(nn.Module, ABC):
    """A map from the features of an image to a code, with straight-through gradients.

    The code z is what decoders, priors and spaces of this library take: bits, or one-hot vectors of
    several variables of k values. It is the argmax of potentials without pairwise scores. The
    decoder gets the vectors `embed(z)`. The backward pass treats the step from the encoder's
    vectors to these as the identity, so the encoder's gradient is biased.

    Args:
        variables: number of variables, or of bits.
        k: number of values of a variable; 2 for bits.
        dimensions: number of features of a variable.

    Attributes:
        binary: whether the variables are bits.
        shared: whether all variables share one codebook.

    Raises:
        SettingError: a number is too small.

    References:
        Bengio, Léonard, Courville (2013), Estimating or propagating gradients through stochastic
        neurons, the straight-through estimator.
    """

    binary: ClassVar[bool] = False
    shared: ClassVar[bool] = False

    def __init__(self, variables: int, k: int, dimensions: int = 1):
        super().__init__()
        least = {"variables": (variables, 1), "k": (k, 2), "dimensions": (dimensions, 1)}
        for name, (value, smallest) in least.items():
            whole_number(value, name, SettingError, smallest)
        self.variables = variables
        self.k = k
        self.dimensions = dimensions

    @property
    def n(self) -> int:
        """The length of a code: the number of bits, or of the values of all variables."""
        if self.binary:
            return self.variables
        return self.variables * self.k

    @property
    def features(self) -> int:
        """The number of features of an image, which is also that of the decoder's inputs."""
        return self.variables * self.dimensions

    @property
    def log_count(self) -> float:
        """The logarithm of the number of codes, in nats."""
        return self.variables * math.log(self.k)

    @abstractmethod
    def embed(self, z: torch.Tensor) -> torch.Tensor:
        """Return the vectors `[..., features]` that codes `z [..., n]` stand for."""

    def forward(self, features: torch.Tensor, generator: torch.Generator) -> Quantised:
        """Return the codes of `features [batch, features]`, and learn from them in training mode.

        Args:
            features: the outputs of the encoder's network.
            generator: draws what learning a codebook needs.
        """
        vectors = self._bounded(features)
        if self.training:
            self._prepare(vectors.detach(), generator)
        z = self._code(vectors)
        quantised = self.embed(z).detach()
        if self.training:
            self._learn(vectors.detach(), z, generator)
        return Quantised(
            z=z,
            # The value is that of the code, the gradient that of the encoder's vectors.
            vectors=vectors + (quantised - vectors).detach(),
            commitment=(vectors - quantised).square().mean(),
            entropy=self._entropy(vectors),
        )

    if TYPE_CHECKING:

        def __call__(self, features: torch.Tensor, generator: torch.Generator) -> Quantised:
            """Call `forward`; declared since torch's own type is Any."""

    def code(self, features: torch.Tensor) -> torch.Tensor:
        """Return the codes `[batch, n]` of features, without learning from them."""
        return self._code(self._bounded(features))

    def potentials(self, features: torch.Tensor) -> AnyPotentials:
        """Return the potentials whose argmax is the code of each image."""
        scores = self._scores(self._bounded(features))
        if self.binary:
            return Potentials(scores)
        return CategoricalPotentials(scores, variables=self.variables)

    def frequencies(self, z: torch.Tensor) -> torch.Tensor:
        """Return how often each variable has each value in codes `[count, n]`: `[variables, k]`."""
        if self.binary:
            ones = z.mean(dim=0)
            return torch.stack([1 - ones, ones], dim=-1)
        return of_variables(z.mean(dim=0), self.variables)

    @torch.no_grad()
    def _code(self, vectors: torch.Tensor) -> torch.Tensor:
        scores = self._scores(vectors)
        if self.binary:
            return (scores > 0).to(scores.dtype)
        labels = of_variables(scores, self.variables).argmax(dim=-1)
        return codes_of(labels, self.k).to(scores.dtype)

    def _bounded(self, features: torch.Tensor) -> torch.Tensor:
        """Return the vectors that are replaced by those of codes."""
        return features

    @abstractmethod
    def _scores(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the unary scores `[batch, n]` of vectors `[batch, features]`."""

    def _entropy(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors.new_zeros(())

    def _prepare(self, vectors: torch.Tensor, generator: torch.Generator) -> None:
        """Start to learn from the first vectors."""

    def _learn(self, vectors: torch.Tensor, z: torch.Tensor, generator: torch.Generator) -> None:
        """Learn from the vectors and codes of a training step."""


def codebook_use(frequencies: torch.Tensor, shared: bool) -> tuple[float, float]:
    """Return the share of values in use, and the perplexity of a codebook.

    The perplexity is exp(H) for the entropy H of the values of a codebook, averaged over codebooks
    before the exponential: k where all values are equally frequent, 1 where one is always taken.

    Args:
        frequencies: `[variables, k]`, how often each variable has each value; rows sum to one.
        shared: whether all variables share one codebook.

    Example:
        >>> codebook_use(torch.tensor([[0.5, 0.5, 0.0, 0.0]]), shared=True)
        (0.5, 2.0)
    """
    frequencies = frequencies.double()
    if shared:
        frequencies = frequencies.mean(dim=0, keepdim=True)
    used = (frequencies > 0).double().mean().item()
    entropy = torch.special.entr(frequencies).sum(dim=-1).mean()
    return used, entropy.exp().item()
