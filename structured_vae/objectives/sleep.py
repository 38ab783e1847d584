"""The loss of the sleep phase: the encoder should recognise the states of images of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from ..distributions.prior import excess_of


def sleep_loss(
    vae: DiscreteVAE,
    count: int,
    posterior: Callable[[AnyPotentials], Distribution],
    generator: torch.Generator,
    seen: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> torch.Tensor:
    """Return -log q(z | x) `[count]` of states z of the prior and images x of p(x | z), in nats.

    Only the encoder gets a gradient. Its mean is E_p[-log q(z | x)], which is least where q is the
    posterior of the model, for images as the model draws them.

    Args:
        vae: the model.
        count: number of images to draw.
        posterior: makes the distribution of potentials, with an exact log q.
        generator: draws the states and the images.
        seen: changes images before the encoder sees them, as dropout of pixels does.

    Raises:
        models.errors.SettingError: the decoder's likelihood cannot draw images.

    References:
        Hinton, Dayan, Frey, Neal (1995), The wake-sleep algorithm for unsupervised neural networks.
    """
    with torch.no_grad():
        z = drawn_from_prior(vae, count, generator)
        x = vae.decoder.draw(z, generator)
    if seen is not None:
        x = seen(x)
    return -posterior(vae.encoder(x)).log_prob(z)


def drawn_from_prior(vae: DiscreteVAE, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return exact samples `[count, n]` of the prior of the model, without gradient."""
    prior = excess_of(vae)
    if prior is not None:
        return prior.sample(generator, count)
    potentials = vae.blank().unary_alone()
    uniform = Gibbs(replace(potentials, unary=torch.zeros_like(potentials.unary)))
    return uniform.sample(generator, count)[:, 0]
