"""The training of a quantised VAE, for Lightning."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from models.quantisers import codebook_use
from models.vaes import QuantisedVAE

from ...training.base import Training, TrainingOptions
from .evaluation import quantised_columns, use_of_values


class QuantisedTraining(Training):
    """The training of the reconstruction, with a straight-through gradient of the quantiser.

    The loss is -log p(x | z(x)) + pixels (commitment * distance + code_entropy * entropy): both
    weights are in nats per pixel. A learnt prior adds -log p(z(x)), whose gradient reaches the
    prior alone, so codes are as they are without it; the factorised prior counts values.

    Args:
        vae: the model.
        options: learning rate, seed and dropout.
        commitment: weight of the mean square distance of vectors from those of their codes.
        code_entropy: weight of the entropy term of soft codes.
    """

    SAMPLES = 100
    SAMPLES_A_ROW = 10

    def __init__(
        self,
        vae: QuantisedVAE,
        options: TrainingOptions,
        *,
        commitment: float,
        code_entropy: float,
    ):
        super().__init__(options)
        self.vae = vae
        self.commitment = commitment
        self.code_entropy = code_entropy

    @property
    def monitored(self) -> str:
        """The bound."""
        return "validation/bound"

    def _loss(
        self, x: torch.Tensor, *labelled: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        vae = self.vae
        quantised = vae.quantise(self._seen(x), self._noise)
        cost = vae.straight_through_cost(x, quantised).mean()
        learnt = -vae.log_prior(quantised.z).mean()  # the code itself has no gradient
        penalty = self.commitment * quantised.commitment + self.code_entropy * quantised.entropy
        stats = {
            "cost": cost.detach(),
            "commitment": quantised.commitment.detach(),
            "code_entropy": quantised.entropy.detach(),
            "kl": learnt.detach(),
        }
        return cost + vae.pixels * penalty + learnt, stats

    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        return quantised_columns(self.vae, x)

    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        used, perplexity = use_of_values(self.vae, [batch["values"] for batch in batches])
        columns = {
            name: torch.cat([batch[name] for batch in batches]).double()
            for name in ("reconstruction", "kl", "bound", "bound_factorised", "bound_uniform")
        }
        means = {name: column.mean().item() for name, column in columns.items()}
        error = columns["bound"].std(correction=0).item() / len(columns["bound"]) ** 0.5
        return {**means, "standard_error": error, "usage": used, "perplexity": perplexity}

    def on_validation_epoch_end(self) -> None:
        """Log the metrics of each split, and how the training's codes use the codebook."""
        super().on_validation_epoch_end()
        _, perplexity = codebook_use(self.vae.frequencies, self.vae.quantiser.shared)
        self.log("train/perplexity", perplexity, sync_dist=True)

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return the images `[count, pixels]` that the codes of images decode to."""
        return self.vae.mean(self.vae.code(x))

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return a hundred mean images of codes of the prior, and 10, the row length."""
        return self.vae.sample(self.SAMPLES, noise), self.SAMPLES_A_ROW
