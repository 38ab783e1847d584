"""The semi-supervised training of a mixture VAE, for Lightning."""

from __future__ import annotations

import torch

from models import MixtureVAE
from models.potentials import AnyPotentials
from models.states import codes_of

from ...training.semi_supervised import SemiSupervisedTraining
from .evaluation import mixture_columns


class MixtureTraining(SemiSupervisedTraining):
    """The training of a class z_d and a style z_c; see `SemiSupervisedTraining`."""

    STYLES = 10
    """The number of rows in the picture of classes and styles."""

    vae: MixtureVAE

    def _labelled(
        self, x: torch.Tensor, labels: torch.Tensor
    ) -> tuple[AnyPotentials, torch.Tensor | float]:
        return self.vae.encoder.scores(self._seen(x)), 0.0

    def _accuracy(self, scores: AnyPotentials, labels: torch.Tensor) -> torch.Tensor:
        return (scores.unary.argmax(dim=-1) == labels).float().mean()

    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        supervision = None
        if self.label_loss is not None:
            supervision = classes
        columns = mixture_columns(self.vae, x, supervision, self._noise_of_evaluation)
        return {
            name: columns[name] for name in columns if name not in ("probabilities", "minus_log_p")
        }

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return each image decoded from its best class and a drawn style: `[count, pixels]`."""
        potentials, style = self.vae.encoder(x)
        best = potentials.unary.argmax(dim=-1, keepdim=True)
        z = codes_of(best, self.vae.n).to(x.dtype)
        return self.vae.decoder(z, style.sample(noise)).sigmoid()

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """Return mean images, with a row for each of ten styles, and the number of classes.

        The prior gives the styles. The number of classes is the row length.
        """
        return self.vae.grid(self.STYLES, noise), self.vae.n
