"""The training of a VAE whose latent variables are all discrete, for Lightning."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from models import DiscreteVAE

from ...distributions.prior import excess_of
from ...estimators import Estimator
from ...evaluation.bound import image_costs, summarise
from ...objectives.recipes import Recipe
from ...objectives.sleep import sleep_loss
from ...schedules import Schedule
from ...training.base import Training, TrainingOptions
from ...training.gradient_flow import Networks
from ...training.graphed_step import Constants


class ArgmaxTraining(Training):
    """The training of encoder, decoder and estimator with one gradient estimate per batch.

    Args:
        vae: the model to train.
        estimator: estimates the encoder's gradient.
        options: learning rate, seed and dropout.
        recipe: makes the objective to minimise.
        kl_weight: the weight of the KL in the objective, by epoch.
    """

    SAMPLES = 100
    SAMPLES_A_ROW = 10

    def __init__(
        self,
        vae: DiscreteVAE,
        estimator: Estimator,
        options: TrainingOptions,
        *,
        recipe: Recipe,
        kl_weight: Schedule,
    ):
        super().__init__(options)
        self.estimator = estimator
        self.vae = vae
        self.recipe = recipe
        self.kl_weight = kl_weight

    @property
    def custom_networks(self) -> Networks:
        """Encoder and decoder, as the caller passed them."""
        networks = {"encoder": self.vae.encoder, "decoder": self.vae.decoder}
        return {role: getattr(network, "network", network) for role, network in networks.items()}

    @property
    def monitored(self) -> str:
        """The name of the bound, if a tight one is known.

        Otherwise the name of the paper's number, which is finite and comparable for every encoder.
        """
        tight = (
            self.estimator.kl != "folded" or self.estimator.posterior(self.vae.blank()).tractable
        )
        if tight:
            return "validation/bound"
        return "validation/bound_surrogate"

    def _constants(self) -> Constants:
        scheduled = self.estimator.scheduled(self.global_step)
        return (*scheduled, self.kl_weight(self.current_epoch), self._share_hidden)

    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        q = self.estimator.posterior(self.vae.encoder(self._seen(x)))
        weight = self.kl_weight(self.current_epoch)
        objective = self.recipe(self.vae, x, q, self.estimator.kl, weight)
        estimate = self.estimator(q, objective.cost, self._noise, self.global_step)
        loss = (estimate.surrogate + objective.kl).mean() + estimate.tuning
        if self.estimator.sleeps:
            posterior = self.estimator.posterior
            loss = loss + sleep_loss(self.vae, len(x), posterior, self._noise, self._seen).mean()
        return loss, {"cost": estimate.cost.mean(), **estimate.stats}

    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        return image_costs(self.vae, x, self.estimator.posterior, self._noise_of_evaluation)

    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        return {
            name: value for name, value in summarise(batches).to_dict().items() if name != "images"
        }

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return images `[count, pixels]`, each decoded from one posterior sample."""
        z = self.estimator.posterior(self.vae.encoder(x)).sample(noise)[0]
        return self.vae.decoder.mean(z)

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return a hundred mean images of states of the prior, and 10, the row length."""
        prior = excess_of(self.vae)
        if prior is None:
            return self.vae.sample(self.SAMPLES, noise), self.SAMPLES_A_ROW
        return self.vae.decoder.mean(prior.sample(noise, self.SAMPLES)), self.SAMPLES_A_ROW
