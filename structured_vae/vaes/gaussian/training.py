"""The training of a Gaussian VAE, for Lightning."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from models.vaes import GaussianVAE

from ...schedules import Schedule
from ...training.base import Training, TrainingOptions
from ...training.graphed_step import Constants
from .evaluation import gaussian_columns


class GaussianTraining(Training):
    """The training of the bound with one reparameterised draw per image.

    Args:
        vae: the model to train.
        options: learning rate, seed and dropout.
        kl_weight: the weight of the KL in the bound, by epoch.
    """

    SAMPLES = 100
    SAMPLES_A_ROW = 10

    def __init__(self, vae: GaussianVAE, options: TrainingOptions, *, kl_weight: Schedule):
        super().__init__(options)
        self.vae = vae
        self.kl_weight = kl_weight

    @property
    def monitored(self) -> str:
        """The bound."""
        return "validation/bound"

    def _constants(self) -> Constants:
        return self.kl_weight(self.current_epoch), self._share_hidden

    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        q = self.vae.posterior(self._seen(x))
        z = q.sample(self._noise)
        cost = self.vae.cost(x, z)
        kl = self.vae.kl(q, z)
        return (cost + self.kl_weight(self.current_epoch) * kl).mean(), {
            "cost": cost.detach().mean()
        }

    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        columns = gaussian_columns(self.vae, x, self._noise_of_evaluation)
        return {name: columns[name] for name in ("reconstruction", "kl", "bound")}

    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        columns = {
            name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]
        }
        error = columns["bound"].std(correction=0).item() / len(columns["bound"]) ** 0.5
        return {name: column.mean().item() for name, column in columns.items()} | {
            "standard_error": error
        }

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return images `[count, pixels]`, each decoded from one draw of the posterior."""
        return self.vae.mean(self.vae.posterior(x).sample(noise))

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return a hundred mean images of states of the prior, and 10, the row length."""
        return self.vae.sample(self.SAMPLES, noise), self.SAMPLES_A_ROW
