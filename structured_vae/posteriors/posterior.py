"""What every posterior offers."""

from __future__ import annotations

from typing import Protocol

import torch

from .kl import KL


class Posterior(Protocol):
    """A distribution q(z | x) over latent states, for each image of a batch."""

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """`[samples, batch, n]`: independent draws, without gradient."""

    def kl(self, method: str, generator: torch.Generator | None = None) -> KL:
        """KL(q || uniform) in nats by one of the posterior's methods, and whether it makes a bound."""
