"""The classes, styles and images of a mixture VAE in the explorer."""

from __future__ import annotations

import torch

from models import MixtureVAE
from models.potentials import AnyPotentials

from ..shown import Shown


class ShownMixture(Shown):
    """The k classes, with a style, as the explorer shows them.

    If each class has its own style, the styles of all classes are concatenated here.

    Args:
        vae: the networks.
    """

    bits = False
    has_style = True

    def __init__(self, vae: MixtureVAE):
        super().__init__(vae.n, next(vae.parameters()))
        self.vae = vae
        self.style_of_each_class = vae.encoder.styles == "own"
        self.style_size = vae.decoder.c
        if self.style_of_each_class:
            self.style_size *= vae.n

    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the scores of the classes, and the mean style of the image."""
        potentials, style = self.vae.encoder(x)
        return potentials, style.mean[0].flatten()

    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the mean images of classes with styles."""
        if self.style_of_each_class:
            style = style.reshape(len(z), self.n, -1)
        return self.vae.decoder(z, style).sigmoid()

    def grid(self, rows: int, generator: torch.Generator) -> tuple[torch.Tensor, int] | None:
        """Return a row for each style drawn from the prior, with a column for each class."""
        return self.vae.grid(rows, generator), self.n
