"""The states and images of a VAE with only discrete latent variables in the explorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ...distributions.kl import kl_ceiling
from ...distributions.prior import excess_of
from ...errors import RunError
from ..shown import Shown, require_few_bits, require_few_states


class ShownStates(Shown):
    """The bits, or the categories of one variable, as the explorer shows them.

    Args:
        vae: the networks.

    Raises:
        RunError: the model has several variables of categories, or too many bits or states.
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
        """Return the potentials of the prior over the states of the model.

        They are zeros for the uniform prior, and for a prior that has only a density.
        """
        zeros = replace(super().prior_scores(), space=self.vae.space)
        if self.vae.prior is None:
            return zeros
        return self.vae.prior.described(
            of_potentials=lambda scores: replace(scores, space=self.vae.space),
            of_density=lambda _: zeros,
        )

    def prior_density(self) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """Return the log density of a prior without potentials; None for other priors."""
        if self.vae.prior is None:
            return None
        return self.vae.prior.described(
            of_potentials=lambda _: None,
            of_density=lambda prior: prior.log_prob,
        )

    def joint_cost(self, x: torch.Tensor, z: torch.Tensor) -> float | None:
        """Return -log p(x, z) of one image and state."""
        prior = excess_of(self.vae)
        if prior is None:  # uniform, over states whose sums may not be known
            log_prior = -kl_ceiling(self.prior_scores()).value
        else:
            log_prior = prior.log_prob(z)
        return float((self.vae.decoder.cost(x, z) - log_prior)[0])
