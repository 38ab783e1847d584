"""What every distribution over latent states offers."""

from __future__ import annotations

from typing import Protocol

import torch

from models.potentials import AnyPotentials

from ..spaces import StateSpace
from ..spaces.completions import Completions
from .kl import KL, kl_ceiling

Moments = tuple[torch.Tensor, torch.Tensor | None]
"""P(z_i = 1) `[batch, n]`, and the means of `pairs`: of bits P(z_i = z_j = 1) `[batch, e]`; None without pairwise
scores."""


class Distribution(Protocol):
    """A distribution q(z | x) or p(z) over the states of a space, one for each row of its potentials.

    `sample` and `kl` always work. Where `tractable` is true the density is known too, and
    `log_partition`, `log_prob`, `entropy` and `marginals` are exact. Elsewhere they raise a
    `ConfigError` that says so. A `KL` says of itself whether it is exact, a bound or neither.
    """

    @property
    def potentials(self) -> AnyPotentials:
        """The scores h of the states."""

    @property
    def space(self) -> StateSpace:
        """The set of states."""

    @property
    def tractable(self) -> bool:
        """Whether the density is known, and with it all exact sums."""

    @property
    def log_partition(self) -> torch.Tensor:
        """`[batch]`: log Z in nats, differentiable in the potentials."""

    @property
    def marginals(self) -> Moments:
        """The probabilities that variables, and pairs of them, are one."""

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[..., batch]`: log q of `z [..., batch, n]` in nats."""

    def entropy(self) -> torch.Tensor:
        """Return `[batch]`: the entropy in nats."""

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return `[samples, batch, n]`: independent draws, without gradient."""

    def completions(
        self, generator: torch.Generator, samples: int = 1, count: int | None = None
    ) -> Completions:
        """Return samples, and each with single variables drawn otherwise."""

    def kl(self, method: str = ..., generator: torch.Generator | None = None) -> KL:
        """Return KL(q || uniform) in nats by one of the distribution's methods, and what it is."""


def tightest_kl(q: Distribution) -> KL:
    """Return the tightest KL to the uniform distribution that is valid and costs no samples."""
    ceiling = kl_ceiling(q.potentials)
    if not q.tractable:
        return ceiling
    return KL(ceiling.value - q.entropy(), "exact")
