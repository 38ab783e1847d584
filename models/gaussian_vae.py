"""The VAE with a Gaussian latent space, the baseline for discrete ones."""

from __future__ import annotations

from typing import ClassVar, cast

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from .gaussian import Gaussian
from .layers import Linear
from .pretrained import Pretrained
from .shapes import Costs, Images, Style


class GaussianVAE(Pretrained):
    """A VAE with a standard normal prior over z in n dimensions and a diagonal Gaussian posterior.

    The encoder is pixels -> hidden -> ReLU -> 2n, the decoder n -> hidden -> ReLU -> one Bernoulli
    logit per pixel, with the same layers as the discrete models.

    Args:
        pixels: number of values of an image.
        n: number of dimensions of z.
        hidden: number of units of the hidden layers.

    References:
        Kingma, Welling (2014), Auto-encoding variational Bayes.
    """

    usage: ClassVar[str] = (
        "vae.sample(16, torch.Generator().manual_seed(0))  # [16, pixels], in [0, 1]"
    )

    def __init__(self, pixels: int = 784, n: int = 15, hidden: int = 300):
        super().__init__()
        self.n = n
        self.encoder = nn.Sequential(Linear(pixels, hidden), nn.ReLU(), Linear(hidden, 2 * n))
        self.decoder = nn.Sequential(Linear(n, hidden), nn.ReLU(), Linear(hidden, pixels))

    @property
    def pixels(self) -> int:
        """The number of values of an image."""
        return self._last.out_features

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes."""
        return {"pixels": self.pixels, "n": self.n, "hidden": self._last.in_features}

    @property
    def _last(self) -> Linear:
        layer = self.decoder[-1]
        return cast("Linear", layer)

    @classmethod
    def of_arguments(cls, pixels: int, n: int, hidden: int) -> GaussianVAE:
        """Make networks with new random weights."""
        return cls(pixels, n, hidden)

    def posterior(self, x: Images) -> Gaussian:
        """Return q(z | x) for each image of `x [batch, pixels]`."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return Gaussian(mean, log_variance)

    def mean(self, z: Style) -> Images:
        """Return the mean image of each code `z [..., n]`: `[..., pixels]`."""
        mean: Images = self.decoder(z).sigmoid()
        return mean

    def cost(self, x: Images, z: Style) -> Costs:
        """Return -log p(x | z) in nats for codes `z [..., batch, n]`: `[..., batch]`."""
        logits = self.decoder(z)
        losses = binary_cross_entropy_with_logits(logits, x.expand_as(logits), reduction="none")
        return losses.sum(dim=-1)

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """Return mean images of codes drawn from the prior: `[count, pixels]`.

        Example:
            >>> GaussianVAE(pixels=9, n=2).sample(3, torch.Generator().manual_seed(0)).shape
            torch.Size([3, 9])
        """
        weight = self._last.weight
        z = torch.randn((count, self.n), generator=generator, device=weight.device)
        return self.mean(z.to(weight.dtype))
