"""The states and images of a VAE with only discrete latent variables in the explorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, cast

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials
from models.priors import Prior
from models.states import drawn_places

from ...distributions.kl import kl_ceiling
from ...distributions.prior import excess_of
from ...errors import RunError
from ..shown import Shown, require_few_bits, require_few_states

ROWS: Final = 1 << 14
"""The number of states whose density is computed at once."""


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
        """Return the potentials of a learnt prior, or zeros, over the states of the model.

        For a prior without potentials they are those of independent variables with its marginals.
        """
        zeros = super().prior_scores()
        if self.vae.prior is None:
            return replace(zeros, space=self.vae.space)
        return self.vae.prior.described(
            of_potentials=lambda scores: replace(scores, space=self.vae.space),
            of_density=lambda _: replace(zeros, unary=self._marginal_scores(zeros)),
        )

    def prior_draws(
        self, fixed: Mapping[int, int], count: int, generator: torch.Generator
    ) -> torch.Tensor | None:
        """Return exact draws from a prior without potentials; None for the others."""
        if self.vae.prior is None:
            return None
        return self.vae.prior.described(
            of_potentials=lambda scores: None,
            of_density=lambda _: self._table_draws(fixed, count, generator),
        )

    def _table_draws(
        self, fixed: Mapping[int, int], count: int, generator: torch.Generator
    ) -> torch.Tensor:
        """Return draws `[count, n]` with fixed values, from the density of all states."""
        states, log_p = self._prior_table
        for variable, value in fixed.items():
            log_p = log_p.masked_fill(states[:, variable] != value, -torch.inf)
        return states[drawn_places(log_p[None], count, generator)[0]]

    def joint_cost(self, x: torch.Tensor, z: torch.Tensor) -> float | None:
        """Return -log p(x, z) of one image and state."""
        prior = excess_of(self.vae)
        if prior is None:  # uniform, over states whose sums may not be known
            log_prior = -kl_ceiling(self.prior_scores()).value
        else:
            log_prior = prior.log_prob(z)
        return float((self.vae.decoder.cost(x, z) - log_prior)[0])

    def _marginal_scores(self, scores: AnyPotentials) -> torch.Tensor:
        """Return scores `[1, n]` of independent variables with the marginals of the prior."""
        states, log_p = self._prior_table
        marginals = (log_p.exp() @ states)[None]
        if self.bits:
            return marginals.logit().to(scores.unary.dtype)
        return marginals.log().to(scores.unary.dtype)

    @cached_property
    def _prior_table(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all states `[states, n]`, and log p(z) `[states]` for a density prior."""
        prior = cast("Prior", self.vae.prior)
        states = super().prior_scores().states()
        with torch.no_grad():
            log_p = torch.cat([prior.log_prob(rows) for rows in torch.split(states, ROWS)])
        return states, log_p
