"""Costs of latent states, bound to a batch of images: what the estimators minimise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch

from models import BernoulliDecoder, Flips, Potentials


class Cost(Protocol):
    """A function of states that also knows their neighbours."""

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[batch]`: the cost of `z [batch, n]` in nats, differentiable in the decoder."""

    def flips(self, z: torch.Tensor) -> Flips:
        """The costs at z and at every single flip, without gradient."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """-log p(x | z) in nats.

    Attributes:
        decoder: gives p(x | z).
        x: `[batch, pixels]`.
    """

    decoder: BernoulliDecoder
    x: torch.Tensor

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[batch]`: -log p(x | z)."""
        return self.decoder.cost(self.x, z)

    def flips(self, z: torch.Tensor) -> Flips:
        """The costs at z and at every single flip, by n + 1 decodes."""
        return self.decoder.flips(self.x, z)


@dataclass(frozen=True, eq=False)
class WithKL:
    """A cost plus log q(z | x) - log p(z), with log q cut off from the encoder's gradient.

    Since E_q[grad log q] = 0, the gradient of E_q[cost + log q - log p] = E_q[cost] + KL(q || p) is that
    of a cost in which log q is held fixed. So the KL needs no term of its own: it rides through the
    same two argmaxes, on the scale of the cost.

    log q is taken as h(z | x) up to a constant, which no argmax sees; the prior is uniform. For an
    independent encoder this is the distribution that the argmax samples, and the whole ELBO is trained.
    For a structured one it is the Gibbs density of the same potentials, from which perturb-and-MAP
    samples differ: there the trained term is an approximation.

    Attributes:
        cost: what is added to.
        posterior: detached potentials.
    """

    cost: Cost
    posterior: Potentials

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[batch]`: the inner cost; the KL has no gradient but through the argmax."""
        return self.cost(z)

    def flips(self, z: torch.Tensor) -> Flips:
        """The inner flips, each with the change of h that it makes."""
        flips = self.cost.flips(z)
        change = self.posterior.field(z) * (1 - 2 * z)
        return replace(flips, flipped=flips.flipped + change)
