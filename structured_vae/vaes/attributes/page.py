"""The states, styles and images of an attribute VAE in the explorer."""

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
    """The attributes of a face, with a code for the person, as the explorer shows them.

    The style here is the code minus the prior's mean given the attributes. So the style does not
    change when attributes are switched.

    Args:
        vae: the networks.

    Raises:
        RunError: the model has too many attributes.
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
        """The names of the attributes, if they are those of CelebA."""
        if self.n != len(ATTRIBUTES):
            return super().names
        return [name.replace("_", " ") for name in ATTRIBUTES]

    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the scores of the attributes, and the code minus its prior's mean."""
        potentials, code = self.vae.encoder(x)
        beyond = code.mean - self.vae.decoder.prior(argmax(potentials, "auto"))
        return potentials, beyond[0].flatten()

    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the images of attributes with codes."""
        return self.vae.decoder(z, style + self.vae.decoder.prior(z))
