"""The protocol of every distribution over latent states."""

from __future__ import annotations

from typing import Protocol

import torch

from models.potentials import AnyPotentials

from ..spaces import StateSpace
from ..spaces.completions import Completions
from .kl import KL

Moments = tuple[torch.Tensor, torch.Tensor | None]
"""P(z_i = 1) `[batch, n]`, and the means of `pairs`; None without pairwise scores.

The means of pairs of bits are P(z_i = z_j = 1) `[batch, e]`.
"""


class Distribution(Protocol):
    """A distribution q(z | x) or p(z) over the states of a space, for each row of potentials.

    `sample` and `kl` always work. Where `has_density` is true, `log_prob` is exact. Where
    `tractable` is true, so are `log_partition`, `entropy` and `marginals`. Elsewhere they raise a
    `ConfigError` that says so. A `KL` carries its kind: exact, a bound or neither.
    """

    @property
    def potentials(self) -> AnyPotentials:
        """The scores h of the states."""

    @property
    def space(self) -> StateSpace:
        """The set of states."""

    @property
    def tractable(self) -> bool:
        """Whether the density and all exact sums are available."""

    @property
    def has_density(self) -> bool:
        """Whether the density of single states is available."""

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` in nats, differentiable in the potentials."""

    @property
    def marginals(self) -> Moments:
        """The probabilities that variables, and pairs of them, are one."""

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states `z [..., batch, n]`, in nats."""

    def log_prob_of_all(self, states: torch.Tensor) -> torch.Tensor:
        """Return log q `[batch, count]` of every state of the space, listed in `[count, n]`."""

    def score(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states up to a constant of the image, differentiable."""

    def flip_log_ratios(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q(z with bit i flipped) - log q(z), `[..., batch, n]`, for states of bits."""

    def entropy(self) -> torch.Tensor:
        """Return the entropy `[batch]` in nats."""

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return independent samples `[samples, batch, n]`, without gradient."""

    def sample_distinct(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return states `[count, batch, n]` drawn without replacement, without gradient."""

    def completions(
        self, generator: torch.Generator, samples: int = 1, count: int | None = None
    ) -> Completions:
        """Return samples, each with other values of single variables."""

    def kl(self, method: str = ..., generator: torch.Generator | None = None) -> KL:
        """Return KL(q || uniform) in nats and its kind, by one of the distribution's methods."""

    def tightest_kl(self, z: torch.Tensor | None = None) -> KL:
        """Return the tightest valid KL(q || uniform) that needs no further samples.

        Args:
            z: `[samples, batch, n]`, samples of q; None for none.
        """


class DensityDistribution(Distribution, Protocol):
    """A distribution whose density is known, made of potentials alone: `Gibbs` is one."""

    def __init__(self, potentials: AnyPotentials) -> None:
        """Make the distribution.

        Raises:
            ConfigError: the potentials make none.
        """

    @staticmethod
    def why_not(potentials: AnyPotentials) -> tuple[str, ...]:
        """Return the reasons why potentials make no such distribution; empty where they do."""
