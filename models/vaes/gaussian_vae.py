"""The VAE with a Gaussian latent space, the baseline for discrete ones."""

from __future__ import annotations

from typing import ClassVar, cast

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..arguments import of_kind, whole_number
from ..errors import SettingError
from ..gaussian import Gaussian
from ..networks.layers import Linear
from ..pretrained import Pretrained
from ..pretrained.arguments import with_fields_of
from ..priors import DensityPrior, named_density
from ..shapes import Costs, Images, Style
from .arguments import GaussianArguments


class GaussianVAE(Pretrained):
    """A VAE with z in n dimensions, a diagonal Gaussian posterior and a normal or a learnt prior.

    The encoder is pixels -> hidden -> ReLU -> 2n, the decoder n -> hidden -> ReLU -> one Bernoulli
    logit per pixel, with the same layers as the discrete models.

    Args:
        pixels: number of values of an image.
        n: number of dimensions of z.
        hidden: number of units of the hidden layers.
        prior: the density of z, learnt with the networks; None for the standard normal.

    Raises:
        SettingError: the prior is of another number of dimensions.

    References:
        Kingma, Welling (2014), Auto-encoding variational Bayes.
    """

    usage: ClassVar[str] = (
        "vae.sample(16, torch.Generator().manual_seed(0))  # [16, pixels], in [0, 1]"
    )

    def __init__(
        self,
        pixels: int = 784,
        n: int = 15,
        hidden: int = 300,
        prior: DensityPrior | None = None,
    ):
        super().__init__()
        pixels = whole_number(pixels, "pixels", SettingError)
        n = whole_number(n, "n", SettingError)
        hidden = whole_number(hidden, "hidden", SettingError)
        if prior is not None:
            of_kind(prior, "prior", SettingError, DensityPrior, "a DensityPrior, or None")
            prior.check(n)
        self.n = n
        self.encoder = nn.Sequential(Linear(pixels, hidden), nn.ReLU(), Linear(hidden, 2 * n))
        self.decoder = nn.Sequential(Linear(n, hidden), nn.ReLU(), Linear(hidden, pixels))
        self.prior = prior

    @property
    def pixels(self) -> int:
        """The number of values of an image."""
        return self._last.out_features

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes."""
        arguments: dict[str, int | str] = {
            "pixels": self.pixels,
            "n": self.n,
            "hidden": self._last.in_features,
        }
        if self.prior is not None:
            arguments |= self.prior.arguments
        return arguments

    @property
    def _last(self) -> Linear:
        layer = self.decoder[-1]
        return cast("Linear", layer)

    @classmethod
    @with_fields_of(GaussianArguments)
    def of_arguments(cls, arguments: GaussianArguments) -> GaussianVAE:
        """Make networks with new random weights.

        Args:
            arguments: the fields of `models.vaes.arguments.GaussianArguments`, by position or name.

        Raises:
            SettingError: no prior has this name, or the prior has no such sizes.
        """
        vae = cls(arguments.pixels, arguments.n, arguments.hidden)
        # The prior comes last, so that a seed gives the networks the same weights with any prior.
        vae.prior = named_density(arguments.prior_options, arguments.n)
        return vae

    def with_prior(self, prior: DensityPrior) -> GaussianVAE:
        """Return a model of the same networks with another prior.

        Args:
            prior: a density of n variables.

        Raises:
            SettingError: the prior is of another number of dimensions.

        Example:
            >>> vae = GaussianVAE(pixels=4, n=2, hidden=3)
            >>> vae.with_prior(named_density("linear", 2)).arguments["prior"]
            'linear'
        """
        vae = GaussianVAE(self.pixels, self.n, self._last.in_features, prior)
        vae.encoder = self.encoder
        vae.decoder = self.decoder
        weight = self._last.weight
        return vae.to(weight.device, weight.dtype).train(self.training)

    def posterior(self, x: Images) -> Gaussian:
        """Return q(z | x) for each image of `x [batch, pixels]`."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return Gaussian(mean, log_variance)

    def kl(self, q: Gaussian, z: Style) -> Costs:
        """Return an estimate of KL(q || p) in nats: `[batch]`.

        It is exact for the standard normal prior. With a learnt one the entropy of q is exact, and
        the mean of log p is that of one sample.

        Args:
            q: the posterior of each image.
            z: a sample of each, `[batch, n]`, through which the gradient flows.
        """
        if self.prior is None:
            return q.kl()
        return -q.entropy() - self.prior.log_prob(z)

    def log_ratio(self, q: Gaussian, z: Style) -> Costs:
        """Return log p(z) - log q(z) in nats for codes `z [batch, n]`: `[batch]`."""
        if self.prior is None:
            return q.log_ratio(z)
        return self.prior.log_prob(z) - q.log_prob(z)

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
        if self.prior is not None:
            return self.mean(self.prior.sample(count, generator))
        weight = self._last.weight
        z = torch.randn((count, self.n), generator=generator, device=weight.device)
        return self.mean(z.to(weight.dtype))
