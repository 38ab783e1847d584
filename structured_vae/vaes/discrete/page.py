"""What the explorer shows of a VAE whose latent variables are discrete alone."""

from __future__ import annotations

from dataclasses import replace

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ...distributions import Gibbs
from ...distributions.kl import kl_ceiling
from ...errors import RunError
from ..shown import Shown, require_few_bits, require_few_states


class ShownStates(Shown):
    """Bits, or the categories of one variable.

    Args:
        vae: the networks.

    Raises:
        RunError: there are several variables of categories, or too many bits or states.
    """

    def __init__(self, vae: DiscreteVAE):
        super().__init__(vae.n, next(vae.parameters()))
        self.vae = vae
        self.bits = not vae.categorical
        self.has_paths = self.bits and vae.space is None
        if vae.space is not None:
            require_few_states(vae.blank())
        elif self.bits:
            require_few_bits(vae.n)
        elif vae.variables > 1:
            raise RunError(
                f"has {vae.variables} variables of several values; the explorer shows one"
            )

    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the potentials of an image; there is no style."""
        return self.vae.encoder(x), None

    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the mean images of states."""
        return self.vae.decoder.mean(z)

    def prior_scores(self) -> AnyPotentials:
        """Return the potentials of a learnt prior, or zeros, over the states of the model."""
        scores = super().prior_scores()
        if self.vae.prior is not None:
            scores = self.vae.prior.potentials()
        return replace(scores, space=self.vae.space)

    def joint_cost(self, x: torch.Tensor, z: torch.Tensor) -> float | None:
        """Return -log p(x, z) of one image and state."""
        scores = self.prior_scores()
        if self.vae.prior is None:  # uniform, over states whose sums may not be known
            log_prior = -kl_ceiling(scores).value
        else:
            log_prior = Gibbs(scores).log_prob(z)
        return float((self.vae.decoder.cost(x, z) - log_prior)[0])
