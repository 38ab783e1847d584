"""What the explorer shows of an attribute VAE."""

from __future__ import annotations

from typing import Final

import torch

from models import AttributeVAE
from models.potentials import AnyPotentials

from ...data import ATTRIBUTES
from ...distributions.argmax import argmax
from ..shown import Shown, require_few_bits

SIDE: Final = 64
"""Height and width of the images."""


class ShownAttributes(Shown):
    """Attributes of a face, with a code for the person.

    The style here is what the code has beyond the prior's mean given the attributes, so that it
    stays when attributes are switched.

    Args:
        vae: the networks.

    Raises:
        RunError: there are too many attributes.
    """

    bits = True
    colours = 3
    has_style = True
    size = (SIDE, SIDE)

    def __init__(self, vae: AttributeVAE):
        require_few_bits(vae.n)
        super().__init__(vae.n, next(vae.parameters()))
        self.vae = vae
        self.style_size = vae.decoder.c

    @property
    def names(self) -> list[str]:
        """Names of the attributes, where they are those of CelebA."""
        if self.n != len(ATTRIBUTES):
            return super().names
        return [name.replace("_", " ") for name in ATTRIBUTES]

    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the scores of the attributes, and the code beyond its prior's mean."""
        potentials, code = self.vae.encoder(x)
        beyond = code.mean - self.vae.decoder.prior(argmax(potentials, "auto"))
        return potentials, beyond[0].flatten()

    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the images of attributes with codes."""
        return self.vae.decoder(z, style + self.vae.decoder.prior(z))
