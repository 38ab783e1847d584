"""The codes and images of a quantised VAE in the explorer."""

from __future__ import annotations

import torch

from models.potentials import AnyPotentials
from models.vaes import QuantisedVAE

from ...errors import RunError
from ..shown import Shown, require_few_bits


class ShownCodes(Shown):
    """The bits or values of one variable, with the scores whose argmax is the code.

    Args:
        vae: the networks.

    Raises:
        RunError: there are several variables of values, or too many bits.
    """

    has_estimator = False

    def __init__(self, vae: QuantisedVAE):
        super().__init__(vae.n, vae.frequencies)
        self.vae = vae
        self.bits = vae.quantiser.binary
        colours, height, width = vae.image_size
        self.colours = colours
        if height > 1:
            self.size = (height, width)
        if self.bits:
            require_few_bits(vae.n)
        elif vae.quantiser.variables > 1:
            raise RunError(
                f"has {vae.quantiser.variables} variables of several values; the explorer shows one"
            )

    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the potentials of an image; there is no style."""
        return self.vae.potentials(x), None

    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the mean images of codes."""
        return self.vae.mean(z)

    def prior_scores(self) -> AnyPotentials:
        """Return the potentials of the factorised prior, one row."""
        return self.vae.factorised_potentials()

    def joint_cost(self, x: torch.Tensor, z: torch.Tensor) -> float | None:
        """Return -log p(x, z) of one image and code."""
        return float((self.vae.cost(x, z) - self.vae.log_prior(z))[0])
